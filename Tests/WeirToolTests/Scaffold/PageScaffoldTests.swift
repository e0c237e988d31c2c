// PageScaffoldTests: the text of what is written, in each form. That it compiles and its tests pass is shown by
// `make test-scaffold`.

import Testing

@testable import WeirScaffold

struct PageScaffoldTests {
  private func scaffold(_ name: String = "Checkout", _ change: (inout PageScaffold) -> Void = { _ in }) throws
    -> PageScaffold
  {
    var scaffold = PageScaffold(
      name: try PageName(name), page: TestCall("\(name)Page"), enters: TestCall("appear"), exits: TestCall("disappear"),
      happens: TestCall("submit"), writesPage: true, module: "Shop")
    change(&scaffold)
    return scaffold
  }

  private func text(_ file: String, of scaffold: PageScaffold) throws -> String {
    try #require((scaffold.sources + [scaffold.test]).first { $0.file == file }?.text)
  }

  @Test func `a scaffold has its files`() throws {
    let files = ["CheckoutInfo.swift", "CheckoutTrackingDelegate.swift", "CheckoutTracking.swift"]
    #expect(try scaffold().sources.map(\.file) == files + ["CheckoutCoordinator.swift", "CheckoutPage.swift"])
    #expect(try scaffold { $0.writesPage = false }.sources.map(\.file) == files + ["CheckoutCoordinator.swift"])
    #expect(try scaffold().test.file == "CheckoutTrackingTests.swift")
  }

  @Test func `the handler has the delegate and the page of the name`() throws {
    #expect(
      try text("CheckoutTracking.swift", of: scaffold()).hasSuffix(
        """
        final class CheckoutTracking<Delegate: CheckoutTrackingDelegate>:
          TrackingHandler<CheckoutPage, CheckoutInfo, Delegate>, @unchecked Sendable
        {
          /// Begins to listen. With a life cycle, the delegate is told of the process, too.
          init(_ page: CheckoutPage, delegate: Delegate, lifeCycle: LifeCycle? = nil) {
            super.init(page, delegate: delegate, lifeCycle: lifeCycle) {
              CheckoutInfo(submitCount: $0.submitCount)
            }
            enters(on: CheckoutPage.JoinPoints.appear)
            exits(on: CheckoutPage.JoinPoints.disappear)
            after(CheckoutPage.JoinPoints.submit) { tracking, page, _, _ in
              tracking.delegate.didSubmit(tracking.info(of: page))
            }
          }
        }

        """))
  }

  @Test func `each form has its own page`() throws {
    let byHand = try scaffold()
    let page = try text("CheckoutPage.swift", of: byHand)
    #expect(page.contains("static let submit = JoinPoint<CheckoutPage, (), Void>(\"CheckoutPage.submit()\")"))
    #expect(page.contains("withJoinPoint(JoinPoints.submit, self, ()) { submitCount += 1 }"))
    #expect(
      try text("CheckoutCoordinator.swift", of: byHand).contains("enum CheckoutEvent: Codable, Equatable, Event {"))
    #expect(byHand.testText.contains("[\"scope.entered\", \"CheckoutEvent.submit\", \"scope.exited\"]"))
    #expect(!byHand.sources.contains { $0.text.contains("WeirMacros") })

    let macro = try scaffold { $0.form = .macro }
    #expect(try text("CheckoutPage.swift", of: macro).contains("@Instrumented\nfinal class CheckoutPage {"))
    #expect(try !text("CheckoutPage.swift", of: macro).contains("withJoinPoint"))
    #expect(
      try text("CheckoutCoordinator.swift", of: macro).contains("@Event(\"checkout\")\nenum CheckoutEvent: Equatable {")
    )
    #expect(macro.testText.contains("[\"scope.entered\", \"checkout.submit\", \"scope.exited\"]"))
  }

  /// Without a happening there is no event of the page's own, and nothing that would need a macro.
  @Test func `a page where nothing happens has no event of its own`() throws {
    let plain = try scaffold {
      $0.happens = nil
      $0.writesPage = false
      $0.form = .macro
    }
    for (file, text) in plain.sources + [plain.test] {
      let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
      for word in ["did", "CheckoutEvent", "WeirMacros", "submit"] where code.contains(word) {
        Issue.record("\(word) in \(file)")
      }
    }
    #expect(plain.testText.contains("#expect(spy.names == [\"scope.entered\", \"scope.exited\"])"))
    #expect(plain.tracking.contains("{ _ in\n      CheckoutInfo()\n    }"))
  }

  /// The test calls what is there as it has to be called, and says so in its signature.
  @Test func `the test calls the page as it has to be called`() throws {
    let text = try scaffold {
      $0.writesPage = false
      $0.page = try! TestCall("Shop.View(cart: 7)", option: "--class", isType: true)
      $0.enters = try! TestCall("try await open(at: 1)", option: "--enters-on")
    }.testText
    #expect(text.contains("let page = Shop.View(cart: 7)"))
    #expect(text.contains("try await page.open(at: 1)"))
    #expect(text.contains("@Test func theDelegateIsTold() async throws {"))
    #expect(text.contains("[.submit]"))
    #expect(try scaffold().testText.contains("@Test func theDelegateIsTold() {"))
  }

  /// No line is longer than swift format takes by default with names of a usual length, nor than 120 with the longest.
  @Test func `no line is longer than the formatter takes`() throws {
    for form in [PageScaffold.Form.byHand, .macro] {
      for (name, limit) in [("Checkout", 100), ("A", 100), ("C" + String(repeating: "a", count: 19), 120)] {
        let scaffold = try scaffold(name) { $0.form = form }
        for (file, text) in scaffold.sources + [scaffold.test] {
          #expect(text.hasSuffix("}\n"), "\(file)")
          #expect(!text.contains("\n\n\n"), "\(file)")
          #expect(!text.contains(" \n"), "\(file)")
          for line in text.split(separator: "\n") where line.count > limit {
            Issue.record("\(file) has a line of \(line.count) columns: \(line)")
          }
        }
      }
    }
  }

  @Test func `names that clash are refused`() throws {
    func message(_ change: (inout PageScaffold) -> Void) throws -> String {
      let scaffold = try scaffold("Checkout", change)
      return #expect(throws: ScaffoldError.self) { try scaffold.check() }?.message ?? ""
    }
    try scaffold().check()
    #expect(try message { $0.exits = TestCall("appear") }.hasPrefix("appear is given twice"))
    #expect(try message { $0.happens = TestCall("disappear") }.hasPrefix("disappear is given twice"))
    #expect(try message { $0.page = TestCall("CheckoutInfo") }.contains("another of the files declares"))
    #expect(try message { $0.page = TestCall("Shop.Checkout") }.contains("a name alone"))
    #expect(try message { $0.page = TestCall("checkout") }.contains("a name alone"))
    #expect(try message { $0.enters = try! TestCall("open(1)", option: "") }.hasPrefix("--enters-on is open(1)"))
    #expect(try message { $0.exits = try! TestCall("try open", option: "") }.hasPrefix("--exits-on is try open()"))
    #expect(try message { $0.happens = try! TestCall("buy(1)", option: "") }.hasPrefix("--happens-on is buy(1)"))
    #expect(try message { $0.happens = TestCall("isShown") }.contains("the page's own"))
    #expect(try message { $0.enters = TestCall("submitCount") }.contains("the page's own"))
  }
}

// PageNameTests: which names a page may have, and what becomes of them.

import Testing

@testable import WeirScaffold

struct PageNameTests {
  @Test(arguments: [
    ("Checkout", "checkout", "checkout"), ("OrderHistory", "orderHistory", "order history"), ("A", "a", "a"),
    ("URLList", "urlList", "url list"), ("FAQ", "faq", "faq"), ("Top10Items", "top10Items", "top10 items"),
  ])
  func `a name has its forms`(text: String, lowerCamel: String, inWords: String) throws {
    let name = try PageName(text)
    #expect(name.text == text)
    #expect(name.lowerCamel == lowerCamel)
    #expect(name.inWords == inWords)
  }

  @Test(arguments: [
    ("", "is empty"), ("Shop/Checkout", "is a path"), ("../Checkout", "is a path"), ("Checkout.swift", "is a path"),
    ("checkout", "with a capital in front"), ("Check-out", "ASCII letters and digits"), ("Check out", "ASCII letters"),
    ("1Checkout", "with a capital in front"), ("Order_History", "ASCII letters and digits"), ("Überblick", "ASCII"),
    ("class", "is a keyword"), ("Self", "is a keyword"), ("Any", "is a keyword"), ("CheckoutPage", "leave Page out"),
    ("Page", "leave Page out"), ("Scope", "ScopeCoordinator is a type of Weir"),
    ("Weir", "events are called so"), ("WEIR", "events are called so"), ("Process", "events are called so"),
  ])
  func `a text that is no page's name is refused`(text: String, why: String) {
    let error = #expect(throws: ScaffoldError.self) { try PageName(text) }
    #expect(error?.message.contains(why) == true, "\(error?.message ?? "")")
  }

  @Test func `a name up to the limit of length is taken`() throws {
    _ = try PageName("C" + String(repeating: "a", count: PageName.maximumLength - 1))
    #expect(throws: ScaffoldError.self) { try PageName("C" + String(repeating: "a", count: PageName.maximumLength)) }
  }

  /// What is refused may hold commands to a terminal.
  @Test func `errors are printable`() {
    let error = #expect(throws: ScaffoldError.self) { try PageName("A\u{1B}[2J\nB") }
    #expect(error?.message.unicodeScalars.contains { $0.value < 0x20 } == false)
  }
}

struct TestCallTests {
  @Test(arguments: [
    ("open", "open", "page.open()"), ("open()", "open", "page.open()"),
    ("appear(animated: true)", "appear", "page.appear(animated: true)"),
    ("try await load(retries: (0))", "load", "try await page.load(retries: (0))"),
    ("await load", "load", "await page.load()"), ("tryAgain", "tryAgain", "page.tryAgain()"),
  ])
  func `a method is read with its arguments`(text: String, name: String, call: String) throws {
    let method = try TestCall(text, option: "--enters-on")
    #expect(method.name == name)
    #expect(method.text(on: "page") == call)
    #expect(method.isPlain == ["open", "open()", "tryAgain"].contains(text))
  }

  @Test func `a type is read with its arguments`() throws {
    let type = try TestCall("try Shop.CheckoutPage(cart: 7)", option: "--class", isType: true)
    #expect(type.name == "Shop.CheckoutPage")
    #expect(type.text() == "try Shop.CheckoutPage(cart: 7)")
  }

  @Test(arguments: [
    ("", "is empty"), ("open(", "don't match"), ("open((1)", "don't match"), ("open)", "name a method"),
    ("open()()", "don't match"),
    ("open(\n)", "don't match"), ("page.open", "name a method"), ("init", "is a keyword"), ("self", "is a keyword"),
    ("two words", "name a method"), ("_", "name a method"), ("é", "name a method"), ("()", "name a method"),
  ])
  func `a text that is no call is refused`(text: String, why: String) {
    let error = #expect(throws: ScaffoldError.self) { try TestCall(text, option: "--enters-on") }
    #expect(error?.message.hasPrefix("--enters-on is ") == true)
    #expect(error?.message.contains(why) == true, "\(error?.message ?? "")")
  }

  @Test(arguments: ["Shop.", ".Page", "Shop..Page", "Shop.Type", "[Page]", "Page<Int>"])
  func `a text that is no type is refused`(text: String) {
    #expect(throws: ScaffoldError.self) { try TestCall(text, option: "--class", isType: true) }
  }
}

// PageTests: the text of a page's tests.

extension PageScaffold {
  /// The tests, with the spy and with a delegate in the coordinator's place.
  var testText: String {
    """
    // \(name.text)TrackingTests: what is told of the \(name.inWords) page, and what is captured for it.

    import Synchronization
    import Testing
    import Weir
    import WeirTesting

    @testable import \(module)

    struct \(name.text)TrackingTests {
    \(scopeTest)

    \(delegateTest)

    \(releaseTest)
    }

    \(toldDelegate)

    """
  }

  private var visit: String {
    ([enters] + (happens.map { [$0] } ?? []) + [exits]).map { "    \($0.text(on: "page"))" }.joined(separator: "\n")
  }

  /// What a test's calls may do, after its parentheses.
  private func effects(throwsAnyhow: Bool) -> String {
    let calls = [page, enters, exits] + (happens.map { [$0] } ?? [])
    let isAwaited = calls.contains { $0.isAwaited }
    let isTried = throwsAnyhow || calls.contains { $0.isTried }
    return (isAwaited ? " async" : "") + (isTried ? " throws" : "")
  }

  private func list(_ names: [String?]) -> String {
    "[\(names.compactMap { $0.map { "\"\($0)\"" } }.joined(separator: ", "))]"
  }

  private var scopeTest: String {
    let events = list(["scope.entered", eventName, "scope.exited"])
    var expectations = "    #expect(spy.names == \(events))\n"
    if enters.isAwaited || exits.isAwaited || happens?.isAwaited == true {
      expectations = """
            // By their time, for a page that awaits may go on on another thread.
            let names = spy.all.sorted { $0.time < $1.time }.map(\\.name)
            #expect(names == \(events))

        """
    }
    if let happens {
      let fields = count == nil ? "" : "(count: 1)"
      expectations += "    #expect(spy.events(of: \(name.text)Event.self) == [.\(happens.name)\(fields)])\n"
    }
    return """
        /// Everything is captured inside of one scope.
        @Test func aVisitIsAScope()\(effects(throwsAnyhow: true)) {
          let spy = try SpyTracker()
          let page = \(page.text())
          let tracking = \(name.text)Tracking(page, delegate: \(name.text)Coordinator(spy.tracker))

      \(visit)

      \(expectations)    let views = Set(spy.all.map { $0.context.view?.id })
          #expect(views.count == 1 && !views.contains(nil))
          #expect(spy.last(of: ScopeEvent.self)?.name == "\(name.lowerCamel)")
          #expect(tracking.owner === page)
        }
      """
  }

  private var delegateTest: String {
    """
      /// The delegate is told each thing once, in order.
      @Test func theDelegateIsTold()\(effects(throwsAnyhow: false)) {
        let delegate = ToldDelegate()
        let page = \(page.text())
        let tracking = \(name.text)Tracking(page, delegate: delegate)

    \(visit)

        #expect(delegate.told == \(list(["entered", delegateMethod, "exited: back"])))
        #expect(tracking.owner === page)
      }
    """
  }

  private var releaseTest: String {
    let later = ((happens.map { [$0] } ?? []) + [exits, enters]).map { "    \($0.text(on: "page"))" }
    return """
        /// Without its handler the page is not heard.
        @Test func nothingIsToldOnceTheHandlerIsGone()\(effects(throwsAnyhow: false)) {
          let delegate = ToldDelegate()
          let page = \(page.text())
          var tracking: \(name.text)Tracking? = \(name.text)Tracking(page, delegate: delegate)
          \(enters.text(on: "page"))
          #expect(tracking?.owner === page)

          tracking = nil
      \(later.joined(separator: "\n"))

          #expect(delegate.told == ["entered", "exited: released"])
        }
      """
  }

  private var toldDelegate: String {
    var own = ""
    if let delegateMethod {
      own = "  func \(delegateMethod)(_ info: \(name.text)Info) { note(\"\(delegateMethod)\") }\n"
    }
    return """
      /// In the coordinator's place: keeps what it is told.
      private final class ToldDelegate: \(name.text)TrackingDelegate {
        private let list = Mutex<[String]>([])

        var told: [String] { list.withLock { $0 } }

        func entered(_ info: \(name.text)Info) { note("entered") }
        func exited(_ info: \(name.text)Info, interaction: String) { note("exited: \\(interaction)") }
      \(own)
        private func note(_ what: String) { list.withLock { $0.append(what) } }
      }
      """
  }
}

// PageSources: the text of a page's sources. Laid out as swift format wants it, in lines of at most 100 columns where
// names are of a usual length.

extension PageScaffold {
  /// What is known about the page.
  var info: String {
    let start = """
      // \(name.text)Info: what is known about the \(name.inWords) page when something happens to it.


      """
    guard let happens, let count else {
      return start + """
        /// The raw facts that ``\(name.text)Tracking`` takes from the page.
        ///
        /// None yet. Add what the events need, such as `var itemCount: Int`, and fill it in there.
        struct \(name.text)Info: Equatable, Sendable {}

        """
    }
    return start + """
      /// The raw facts that ``\(name.text)Tracking`` takes from the page.
      ///
      /// Add what the events need, and fill it in there.
      struct \(name.text)Info: Equatable, Sendable {
        /// How often ``\(page.name)/\(happens.name)()`` was called.
        var \(count): Int
      }

      """
  }

  /// Whom the handler tells.
  var delegate: String {
    let start = """
      // \(name.text)TrackingDelegate: whom the tracking of the \(name.inWords) page tells what it saw.

      import Weir

      /// Is told that the page is entered, suspended, resumed and left, as the delegate of every page is,
      /// and what happens on this one alone.
      ///
      /// ``\(name.text)Coordinator`` is one; a test puts its own in that one's place.
      ///
      """
    guard let happens, let delegateMethod else {
      return start + """

        /// Nothing of its own yet. Add a method for what happens, such as
        /// `func didSubmit(_ info: \(name.text)Info)`, and call it in ``\(name.text)Tracking``.
        protocol \(name.text)TrackingDelegate: TrackingDelegate<\(name.text)Info> {}

        """
    }
    return start + """

      /// Add a method for whatever else happens, and call it in ``\(name.text)Tracking``.
      protocol \(name.text)TrackingDelegate: TrackingDelegate<\(name.text)Info> {
        /// `\(happens.name)` was called.
        func \(delegateMethod)(_ info: \(name.text)Info)
      }

      """
  }

  /// The handler.
  var tracking: String {
    let makeInfo = count.map { "{\n      \(name.text)Info(\($0): $0.\($0))" } ?? "{ _ in\n      \(name.text)Info()"
    var hooks = """
          enters(on: \(page.name).JoinPoints.\(enters.name))
          exits(on: \(page.name).JoinPoints.\(exits.name))
      """
    if let happens, let delegateMethod {
      hooks += """

            after(\(page.name).JoinPoints.\(happens.name)) { tracking, page, _, _ in
              tracking.delegate.\(delegateMethod)(tracking.info(of: page))
            }
        """
    }
    return """
      // \(name.text)Tracking: all that listens to one \(name.inWords) page.


      /// Listens to one ``\(page.name)``. Whoever puts the page together keeps it; with it go its hooks.
      ///
      /// ```swift
      /// let tracking = \(name.text)Tracking(page, delegate: \(name.text)Coordinator(tracker))
      /// ```
      ///
      /// Each method that is to be heard is a `before` or an `after` here.
      ///
      /// Sendable as its superclass is: state of your own belongs behind a lock.
      final class \(name.text)Tracking<Delegate: \(name.text)TrackingDelegate>:
        TrackingHandler<\(page.name), \(name.text)Info, Delegate>, @unchecked Sendable
      {
        /// Begins to listen. With a life cycle, the delegate is told of the process, too.
        init(_ page: \(page.name), delegate: Delegate, lifeCycle: LifeCycle? = nil) {
          super.init(page, delegate: delegate, lifeCycle: lifeCycle) \(makeInfo)
          }
      \(hooks)
        }
      }

      """
  }

  /// The coordinator, and what it captures.
  var coordinator: String {
    let isMacro = form == .macro && happens != nil
    var text = """
      // \(name.text)Coordinator: makes events of what happens on the \(name.inWords) page.

      \(isMacro ? "import WeirMacros\n" : "")

      """
    if let happens {
      let fields = count == nil ? "" : "(count: Int)"
      let conformances = isMacro ? "Equatable" : "Codable, Equatable, Event"
      text += """
        /// What is captured on the page, besides that it is entered and left.
        \(isMacro ? "@Event(\"\(name.lowerCamel)\")\nenum" : "enum") \(name.text)Event: \(conformances) {
          /// `\(happens.name)` was called\(count == nil ? "" : ", so often by now").
          case \(happens.name)\(fields)
        }


        """
    }
    text += """
      /// Captures what goes out for what ``\(name.text)Tracking`` saw, inside of the page's scope.
      ///
      /// Entering, suspending, resuming and leaving the page begin, suspend, resume and end the scope.
      final class \(name.text)Coordinator: ScopeCoordinator, \(name.text)TrackingDelegate {
        let page: ScopeSlot

        /// Captures with this tracker.
        init(_ tracker: Tracker) {
          page = ScopeSlot("\(name.lowerCamel)", tracker: tracker)
        }
      """
    if let happens, let delegateMethod {
      text += """


          func \(delegateMethod)(_ info: \(name.text)Info) {
            page.track(\(name.text)Event.\(happens.name)\(count.map { "(count: info.\($0))" } ?? ""))
          }
        """
    }
    return text + "\n}\n"
  }

  /// The page itself.
  var pageText: String {
    form == .macro ? instrumentedPage : handWrittenPage
  }

  private var instrumentedPage: String {
    """
    // \(page.name): the \(name.inWords) page.


    /// The \(name.inWords) page. Put in what it shows and does.
    ///
    /// Others may hear of every method that is not private: each is a join point.
    @Instrumented
    final class \(page.name) {
    \(state)
      /// It comes into sight.
      func \(enters.name)() {
        isShown = true
      }

      /// It goes out of sight.
      func \(exits.name)() {
        isShown = false
      }
    \(ownHappening { "\($0) += 1" })}

    """
  }

  private var handWrittenPage: String {
    let methods = [enters, exits] + (happens.map { [$0] } ?? [])
    let joinPoints = methods.map { method in
      "    static let \(method.name) = JoinPoint<\(page.name), (), Void>(\"\(page.name).\(method.name)()\")"
    }
    return """
      // \(page.name): the \(name.inWords) page.


      /// The \(name.inWords) page. Put in what it shows and does.
      ///
      /// What others may hear of runs in `withJoinPoint`, as the call of a join point.
      final class \(page.name) {
        /// What others may hear of.
        enum JoinPoints {
      \(joinPoints.joined(separator: "\n"))
        }

      \(state)
        /// It comes into sight.
        func \(enters.name)() {
          withJoinPoint(JoinPoints.\(enters.name), self, ()) { isShown = true }
        }

        /// It goes out of sight.
        func \(exits.name)() {
          withJoinPoint(JoinPoints.\(exits.name), self, ()) { isShown = false }
        }
      \(ownHappening { "withJoinPoint(JoinPoints.\(happens?.name ?? ""), self, ()) { \($0) += 1 }" })}

      """
  }

  /// The page's properties.
  private var state: String {
    var text = """
        /// Whether it is seen.
        private(set) var isShown = false

      """
    if let happens, let count {
      text += """

          /// How often ``\(happens.name)()`` was called.
          private(set) var \(count) = 0

        """
    }
    return text
  }

  private func ownHappening(_ body: (String) -> String) -> String {
    guard let happens, let count else { return "" }
    return """

        /// What the page is there for.
        func \(happens.name)() {
          \(body(count))
        }

      """
  }
}

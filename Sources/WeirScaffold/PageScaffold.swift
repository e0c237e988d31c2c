// PageScaffold: the files of a page's tracking, and of the page, as text.

/// What is known about a page before its files are written.
struct PageScaffold: Equatable {
  /// In which form events and join points are declared.
  enum Form {
    /// `@Event` and `@Instrumented`.
    case macro
    /// A `Codable` event, and `withJoinPoint`.
    case byHand
  }

  var name: PageName
  /// The page's class, and how a test makes one.
  var page: TestCall
  var enters: TestCall
  var exits: TestCall
  /// What happens on this page alone; nil if nothing does yet.
  var happens: TestCall?
  var form = Form.byHand
  /// The page itself is among the files.
  var writesPage = false
  /// What the tests import.
  var module: String

  /// The page's own methods where it is written, too.
  static let ownEnters = "appear"
  static let ownExits = "disappear"
  static let ownHappens = "submit"

  /// The sources, by the names of their files.
  var sources: [(file: String, text: String)] {
    var files = [
      ("\(name.text)Info.swift", info),
      ("\(name.text)TrackingDelegate.swift", delegate),
      ("\(name.text)Tracking.swift", tracking),
      ("\(name.text)Coordinator.swift", coordinator),
    ]
    if writesPage { files.append(("\(page.name).swift", pageText)) }
    return files
  }

  /// The file of tests.
  var test: (file: String, text: String) { ("\(name.text)TrackingTests.swift", testText) }

  /// What becomes of a happening in the delegate: `didSubmit`.
  var delegateMethod: String? {
    happens.map { "did\($0.name.prefix(1).uppercased())\($0.name.dropFirst())" }
  }

  /// How the log names the event of a happening.
  var eventName: String? {
    happens.map { "\(form == .macro ? name.lowerCamel : "\(name.text)Event").\($0.name)" }
  }

  /// How often it happened, where the page is written, too, and so is known to count it.
  var count: String? { writesPage ? happens.map { "\($0.name)Count" } : nil }

  /// Throws if two of the names are the same, or the page's is one that is written.
  func check() throws(ScaffoldError) {
    let methods = [enters.name, exits.name] + (happens.map { [$0.name] } ?? [])
    if let twice = methods.first(where: { method in methods.count { $0 == method } > 1 }) {
      throw ScaffoldError("\(twice) is given twice; entering, leaving and what happens take a method each")
    }
    let types = ["Info", "TrackingDelegate", "Tracking", "Coordinator", "Event", "TrackingTests"].map { name.text + $0 }
    if types.contains(page.name) {
      throw ScaffoldError(
        "--class is \(page.name), which is what another of the files declares; give the page another name")
    }
    guard writesPage else { return }
    if !page.isPlain || page.name.contains(".") || !isUpperCamelCase(page.name) {
      throw ScaffoldError(
        "--class is \(page.text()); of a page that is written it takes a name alone, such as CheckoutPage")
    }
    for (option, method) in [("--enters-on", enters), ("--exits-on", exits), ("--happens-on", happens ?? enters)]
    where !method.isPlain {
      throw ScaffoldError("\(option) is \(method.text()); of a page that is written it takes a name alone")
    }
    if methods.contains("isShown") || methods.contains(count ?? "") || methods.contains("JoinPoints") {
      throw ScaffoldError(
        "isShown, JoinPoints and \(count ?? "a count") are the page's own; give the methods other names")
    }
  }

  private func isUpperCamelCase(_ text: String) -> Bool { text.first?.isUppercase ?? false }
}

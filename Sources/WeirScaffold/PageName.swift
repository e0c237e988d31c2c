// PageName: what a page is called, in the forms in which code and comments need it.

/// The name of a page, in UpperCamelCase: `Checkout`, `OrderHistory`.
struct PageName: Equatable {
  /// As types begin: `OrderHistory`.
  let text: String

  /// Longer ones would make lines that no layout keeps below 120 columns.
  static let maximumLength = 40

  init(_ text: String) throws(ScaffoldError) {
    let example = "such as Checkout or OrderHistory"
    if text.isEmpty { throw ScaffoldError("the page's name is empty; give one, \(example)") }
    if text.contains("/") || text.contains("\\") || text.hasSuffix(".swift") {
      throw ScaffoldError(
        "\(printable(text)) is a path, not a name; the folder comes after the name: page Checkout Sources/Shop"
      )
    }
    if isKeyword(text) { throw ScaffoldError("\(text) is a keyword of Swift; give another name, \(example)") }
    guard isIdentifier(text), !text.contains("_"), let first = text.first, first.isUppercase else {
      throw ScaffoldError(
        "\(printable(text)) is no name for a page: ASCII letters and digits, with a capital in front, \(example)"
      )
    }
    if text.count > Self.maximumLength {
      throw ScaffoldError("\(text) has \(text.count) letters; a page's name takes at most \(Self.maximumLength)")
    }
    if text.hasSuffix("Page") {
      throw ScaffoldError(
        "\(text) says twice that it is a page; leave Page out of the name: weir scaffold page \(example)")
    }
    // Its events would have names that Weir's own have: weir.gap, process.started, scope.entered.
    if ["weir", "process"].contains(text.lowercased()) {
      throw ScaffoldError("\(text) is taken: Weir's own events are called so; give another name")
    }
    // ScopeCoordinator is the protocol that coordinators conform to.
    if text == "Scope" { throw ScaffoldError("Scope is taken: ScopeCoordinator is a type of Weir; give another name") }
    self.text = text
  }

  /// As values and events begin: `orderHistory`, `urlList`.
  var lowerCamel: String {
    let words = words
    return words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }

  /// As people write it: `order history`.
  var inWords: String { words.joined(separator: " ") }

  /// In small letters; a word begins with a capital that follows a small letter or a digit, or precedes a small letter.
  private var words: [String] {
    var words: [String] = []
    let letters = Array(text)
    for (index, letter) in letters.enumerated() {
      let follows = index > 0 && !letters[index - 1].isUppercase
      let precedes = index + 1 < letters.count && letters[index + 1].isLowercase
      if words.isEmpty || letter.isUppercase && (follows || precedes) { words.append("") }
      words[words.count - 1] += letter.lowercased()
    }
    return words
  }
}

/// Whether this can be the name of something in Swift, as far as ASCII goes.
func isIdentifier(_ text: some StringProtocol) -> Bool {
  guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= first) else { return false }
  return text != "_" && text.utf8.allSatisfy { isLetter($0) || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
}

private func isLetter(_ byte: UInt8) -> Bool {
  UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || byte == UInt8(ascii: "_")
}

/// Whether this needs backticks where a name is declared, or means something else after a dot.
func isKeyword(_ text: some StringProtocol) -> Bool { keywords.contains(String(text)) }

private let keywords: Set<String> = [
  "Any", "Protocol", "Self", "Type", "actor", "as", "associatedtype", "await", "break", "case", "catch", "class",
  "continue", "default", "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate",
  "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator",
  "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self", "static", "struct",
  "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while",
]

/// An argument as it may be shown: control characters could be commands to a terminal.
func printable(_ text: String) -> String {
  String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : $0 }))
}

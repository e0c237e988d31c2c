// TestCall: how the generated tests call what the page has already.

/// A method of the page, or what makes a page, as an option gives it: `open`, `load(cart: 7)`, `try await load()`.
struct TestCall: Equatable {
  /// The method's name, or the class's with those that it is nested in.
  let name: String
  /// With the parentheses.
  let arguments: String
  let isTried: Bool
  let isAwaited: Bool

  /// Reads an option's value. A type's name may have dots in it.
  init(_ text: String, option: String, isType: Bool = false) throws(ScaffoldError) {
    var rest = Substring(text)
    isTried = Self.take("try ", from: &rest)
    isAwaited = Self.take("await ", from: &rest)
    let name = rest.prefix { $0 != "(" }
    let arguments = rest.dropFirst(name.count)
    let example = isType ? "CheckoutPage, or CheckoutPage(cart: 7)" : "appear, or appear(animated: true)"
    guard Self.isCall(arguments) else {
      throw ScaffoldError("\(option) is \(printable(text)); parentheses don't match: give \(example)")
    }
    let parts = isType ? name.split(separator: ".", omittingEmptySubsequences: false) : [name]
    if let keyword = parts.first(where: isKeyword) {
      throw ScaffoldError("\(option) is \(printable(text)); \(keyword) is a keyword of Swift: give \(example)")
    }
    guard !parts.isEmpty, parts.allSatisfy(isIdentifier) else {
      let kind = isType ? "class" : "method"
      throw ScaffoldError("\(option) is \(text.isEmpty ? "empty" : printable(text)); name a \(kind): \(example)")
    }
    self.name = String(name)
    self.arguments = arguments.isEmpty ? "()" : String(arguments)
  }

  /// Without arguments, for what the scaffold writes itself.
  init(_ name: String) {
    self.name = name
    arguments = "()"
    isTried = false
    isAwaited = false
  }

  /// Nothing but the name was given.
  var isPlain: Bool { arguments == "()" && !isTried && !isAwaited }

  /// The call, of this object's method, or of the class.
  func text(on object: String? = nil) -> String {
    "\(isTried ? "try " : "")\(isAwaited ? "await " : "")\(object.map { "\($0)." } ?? "")\(name)\(arguments)"
  }

  private static func take(_ word: String, from text: inout Substring) -> Bool {
    guard text.hasPrefix(word) else { return false }
    text = text.dropFirst(word.count).drop { $0 == " " }
    return true
  }

  /// Nothing, or one pair of parentheses around the rest, on one line. What stands in it is for the compiler to check.
  private static func isCall(_ text: Substring) -> Bool {
    if text.isEmpty { return true }
    guard text.hasSuffix(")"), !text.contains(where: \.isNewline) else { return false }
    var depth = 0
    for (count, letter) in text.enumerated() {
      if letter == "(" { depth += 1 }
      if letter == ")" { depth -= 1 }
      if depth == 0, count + 1 < text.count { return false }
    }
    return depth == 0
  }
}

// SwiftNames: names of a contract as names of Swift: of types, of properties and of enum cases.
//
// A name of Swift depends on the name of the contract alone, unless two names of the contract would become the same
// name of Swift. Such names get a checksum of the contract's name, so that no name of Swift depends on the order of the
// contract.

import Weir

enum SwiftNames {
  /// Returns the name of a type: `checkout.completed` and `checkout_completed` become `CheckoutCompleted`.
  static func type(_ name: String) -> String {
    let parts = parts(of: name)
    let joined = parts.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    // Without any allowed letter, as in Arabic, `distinct` tells several such names apart.
    return joined.isEmpty ? "Unnamed" : startingWithLetter(joined)
  }

  /// Returns the name of a property. A name that Swift allows stays as it is, so that the compiler's own code for
  /// `Codable` has the contract's name.
  static func property(_ name: String) -> String {
    var text = ""
    for scalar in name.unicodeScalars {
      let isAllowed = isAllowed(scalar) || scalar == "_"
      text.unicodeScalars.append(isAllowed ? scalar : "_")
    }
    text = startingWithLetter(text)
    // A name of underscores alone is a pattern for the compiler, or hard to read.
    if text.allSatisfy({ $0 == "_" }) { text += "field" }
    // The compiler's code for `Codable` has a type of this name.
    return unusable.contains(text) || text == "CodingKeys" ? text + "_" : text
  }

  /// Returns the name of an enum's case: `EUR` stays `EUR`, `Not paid` becomes `notPaid`.
  static func enumCase(_ value: String) -> String {
    let parts = parts(of: value)
    let joined =
      parts.count <= 1
      ? parts.joined()
      : parts.enumerated().map { index, part in
        index == 0 ? part.prefix(1).lowercased() + part.dropFirst() : part.prefix(1).uppercased() + part.dropFirst()
      }.joined()
    let text = joined.isEmpty ? "empty" : startingWithLetter(joined)
    return unusable.contains(text) ? text + "_" : text
  }

  /// Returns the name as code: with backticks if it is a word of the language.
  static func code(_ name: String) -> String { words.contains(name) ? "`\(name)`" : name }

  /// Gives every key a name of its own. Names in `taken` get `suffix`. Of keys with the same name, each gets a
  /// checksum.
  static func distinct(
    _ keys: [String], taken: Set<String> = [], suffix: String = "", _ name: (String) -> String
  ) -> [String: String] {
    var names: [String: String] = [:]
    var counts: [String: Int] = [:]
    for key in keys {
      var candidate = name(key)
      if taken.contains(candidate) { candidate += suffix }
      names[key] = candidate
      counts[candidate, default: 0] += 1
    }
    var used = taken.union(counts.keys)
    for key in keys.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      guard let candidate = names[key], counts[candidate, default: 0] > 1 || taken.contains(candidate) else { continue }
      let digits = String(FNV1a.hash32(key.utf8), radix: 16)
      var unique = candidate + "_" + String(repeating: "0", count: 8 - digits.count) + digits
      // Two names with the same checksum are possible, though nobody has seen any.
      while !used.insert(unique).inserted { unique += "_" }
      names[key] = unique
    }
    return names
  }

  // MARK: Characters

  private static func parts(of name: String) -> [String] {
    var parts: [String] = []
    var part = ""
    for scalar in name.unicodeScalars {
      if isAllowed(scalar) {
        part.unicodeScalars.append(scalar)
      } else if !part.isEmpty {
        parts.append(part)
        part = ""
      }
    }
    return part.isEmpty ? parts : parts + [part]
  }

  /// Letters and digits that Swift allows in names everywhere. Combining characters are left out: names that differ
  /// only in them look the same.
  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2AF, 0x386...0x481, 0x48A...0x52F, 0x3041...0x3096, 0x30A1...0x30FA,
      0x4E00...0x9FFF, 0xAC00...0xD7A3:
      scalar.properties.isAlphabetic
    default: false
    }
  }

  private static func startingWithLetter(_ text: String) -> String {
    guard let first = text.unicodeScalars.first else { return "_" }
    return (0x30...0x39).contains(first.value) ? "_" + text : text
  }

  // MARK: Words

  /// Names that can't be used, not even with backticks, or that would mean something else: `.none` of an optional.
  private static let unusable: Set<String> = [
    "self", "Self", "Type", "Protocol", "init", "none", "some", "allCases", "hashValue",
  ]

  /// The words of the language, contextual ones too.
  private static let words: Set<String> = [
    "Any", "actor", "any", "as", "associatedtype", "async", "await", "borrow", "borrowing", "break", "case", "catch",
    "class", "consume", "consuming", "continue", "copy", "default", "defer", "deinit", "discard", "do", "each", "else",
    "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "get", "guard", "if", "import", "in",
    "inout", "internal", "is", "isolated", "lazy", "let", "macro", "mutating", "nil", "nonisolated", "nonmutating",
    "open", "operator", "override", "package", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows",
    "return", "sending", "set", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
    "typealias", "unowned", "unsafe", "using", "var", "weak", "where", "while", "yield", "_",
  ]

  /// Names that types of the generated code may not have, because the code refers to other types by these names.
  static let reserved: Set<String> = [
    "Any", "AnyObject", "Array", "Bool", "CaseIterable", "Codable", "CodingKey", "CodingKeys", "Data", "Date",
    "Decodable", "Decoder", "Dictionary", "Double", "Encodable", "Encoder", "Equatable", "Error", "Event", "EventKind",
    "EventType", "FieldObject", "FieldValue", "Float", "Foundation", "Hashable", "Hasher", "Int", "Int64", "Never",
    "Optional", "PageAction", "PageView", "Protocol", "RawRepresentable", "RawValue", "Self", "Sendable", "Set",
    "String", "Swift", "SystemAction", "TrackedEvent", "Type", "UInt", "UInt64", "UInt8", "UUID", "Void", "Weir",
    "StoredEvent", "EventEncoder", "AllCases",
  ]
}

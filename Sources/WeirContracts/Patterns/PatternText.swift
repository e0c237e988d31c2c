// PatternText: a contract's pattern as a regular expression of JSON Schema (ECMA-262 with the flag u).
//
// Written from the tree, and not copied: \d, \w, \s and the dot have other meanings in other engines, and some escapes
// are errors there.

import Weir

enum PatternText {
  /// Returns the expression. A pattern of a contract matches the whole text, an expression of JSON Schema any part.
  static func schema(_ pattern: String) -> String {
    guard let node = try? PatternParser.parse(pattern) else { return pattern }
    return "^(?:\(text(node)))$"
  }

  private static func text(_ node: PatternNode) -> String {
    switch node {
    case .empty: ""
    case .scalar(let set): text(set)
    case .sequence(let nodes): nodes.map(part).joined()
    case .choice(let nodes): nodes.map(text).joined(separator: "|")
    case .repetition(let node, let min, let max): unit(node) + quantifier(min, max)
    }
  }

  /// A part of a sequence.
  private static func part(_ node: PatternNode) -> String {
    if case .choice = node { return "(?:\(text(node)))" }
    return text(node)
  }

  /// What a quantifier applies to.
  private static func unit(_ node: PatternNode) -> String {
    if case .scalar = node { return text(node) }
    return "(?:\(text(node)))"
  }

  private static func quantifier(_ min: Int, _ max: Int?) -> String {
    switch (min, max) {
    case (0, nil): "*"
    case (1, nil): "+"
    case (0, 1): "?"
    case (_, nil): "{\(min),}"
    case (_, let max?): min == max ? "{\(min)}" : "{\(min),\(max)}"
    }
  }

  private static func text(_ set: ScalarSet) -> String {
    if let only = set.only { return literal(only, escaping: "^$\\.*+?()[]{}|/") }
    // The shorter form: a negated set reaches up to the last scalar.
    let isNegated = set.contains(0x10FFFF)
    let ranges = (isNegated ? set.negated : set).ranges.compactMap(scalars)
    if ranges.isEmpty { return isNegated ? "[\\s\\S]" : "(?!)" }
    let parts = ranges.map { range in
      let (first, last) = (literal(range.lower, escaping: "\\]^[-"), literal(range.upper, escaping: "\\]^[-"))
      if range.lower == range.upper { return first }
      return range.upper.value - range.lower.value == 1 ? first + last : "\(first)-\(last)"
    }
    return "[\(isNegated ? "^" : "")\(parts.joined())]"
  }

  /// Returns the ends of a range, without the code points that are no scalars.
  private static func scalars(_ range: ClosedRange<UInt32>) -> (lower: Unicode.Scalar, upper: Unicode.Scalar)? {
    let surrogates: ClosedRange<UInt32> = 0xD800...0xDFFF
    let lower = surrogates.contains(range.lowerBound) ? surrogates.upperBound + 1 : range.lowerBound
    let upper = surrogates.contains(range.upperBound) ? surrogates.lowerBound - 1 : range.upperBound
    guard lower <= upper, let first = Unicode.Scalar(lower), let last = Unicode.Scalar(upper) else { return nil }
    return (first, last)
  }

  private static func literal(_ scalar: Unicode.Scalar, escaping special: String) -> String {
    switch scalar.value {
    case 0x20..<0x7F: return special.unicodeScalars.contains(scalar) ? "\\\(scalar)" : "\(scalar)"
    case 0xA0..<0xD800, 0x10000...: return "\(scalar)"
    default:
      let digits = String(scalar.value, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }
}

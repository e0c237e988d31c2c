// PatternParser: parses a regular expression into a tree.
//
// Accepts the common subset of regular expressions, with the same meaning everywhere. Syntax that engines interpret
// differently, or that can't be matched in linear time, is refused with a suggestion.

import Weir

/// A regular expression as a tree.
indirect enum PatternNode {
  case empty
  case scalar(ScalarSet)
  case sequence([PatternNode])
  case choice([PatternNode])
  case repetition(PatternNode, min: Int, max: Int?)
}

/// The reason why a pattern is refused.
struct PatternProblem: Error, Hashable {
  var message: String
}

/// Parses a pattern, scalar by scalar.
struct PatternParser {
  /// The maximum length of a pattern, in Unicode scalars.
  static let maximumCharacters = 4_096
  /// The maximum nesting depth of groups. Each level is a recursive call.
  static let maximumDepth = 32
  /// The maximum number in `{n,m}`.
  static let maximumCount = 1_000

  private let scalars: [Unicode.Scalar]
  private var at = 0

  /// Returns the tree of `pattern`.
  static func parse(_ pattern: String) throws(PatternProblem) -> PatternNode {
    guard !pattern.isEmpty else { throw PatternProblem(message: "it is empty; use length 0 for the empty text") }
    guard pattern.unicodeScalars.count <= maximumCharacters else {
      throw PatternProblem(message: "it is longer than \(maximumCharacters) characters")
    }
    var parser = PatternParser(scalars: Array(pattern.unicodeScalars))
    let node = try parser.choice(depth: 0)
    if parser.at < parser.scalars.count { throw parser.problem("a ) without its (; put a backslash before it") }
    return node
  }

  private init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

  private var next: Unicode.Scalar? { at < scalars.count ? scalars[at] : nil }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    at += 1
    return true
  }

  private func problem(_ message: String) -> PatternProblem {
    PatternProblem(message: "\(message) (character \(at + 1))")
  }

  private mutating func choice(depth: Int) throws(PatternProblem) -> PatternNode {
    guard depth <= Self.maximumDepth else { throw problem("groups nest at most \(Self.maximumDepth) deep") }
    var choices = [try sequence(depth: depth)]
    while take("|") { choices.append(try sequence(depth: depth)) }
    return choices.count == 1 ? choices[0] : .choice(choices)
  }

  private mutating func sequence(depth: Int) throws(PatternProblem) -> PatternNode {
    var parts: [PatternNode] = []
    // The whole text is matched, so ^ and $ are redundant at the ends, and could never match elsewhere.
    if depth == 0 { _ = take("^") }
    while let scalar = next, scalar != "|", scalar != ")" {
      if scalar == "$", depth == 0, at + 1 == scalars.count || scalars[at + 1] == "|" {
        at += 1
        break
      }
      parts.append(try quantified(depth: depth))
    }
    if parts.isEmpty { return .empty }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func quantified(depth: Int) throws(PatternProblem) -> PatternNode {
    let node = try atom(depth: depth)
    guard let (min, max) = try quantifier() else { return node }
    // A lazy quantifier prefers a shorter match. Whether the whole text matches does not depend on that.
    _ = take("?")
    if next == "+" { throw problem("a possessive quantifier is not supported; remove the last +") }
    if next == "*" || next == "?" { throw problem("a quantifier after a quantifier; put the first one into (?: )") }
    if next == "{" { throw problem("a quantifier after a quantifier; put the first one into (?: )") }
    return .repetition(node, min: min, max: max)
  }

  private mutating func quantifier() throws(PatternProblem) -> (min: Int, max: Int?)? {
    if take("*") { return (0, nil) }
    if take("+") { return (1, nil) }
    if take("?") { return (0, 1) }
    guard take("{") else { return nil }
    guard let min = try count() else { throw problem("{ must be followed by a number; put a backslash before the {") }
    var max: Int? = min
    if take(",") { max = try count() }
    guard take("}") else { throw problem("a } is missing: {n}, {n,} or {n,m}") }
    if let max, max < min { throw problem("{\(min),\(max)} has its ends in the wrong order") }
    return (min, max)
  }

  private mutating func count() throws(PatternProblem) -> Int? {
    var value: Int?
    while let digit = next?.asciiDigit {
      value = (value ?? 0) * 10 + digit
      at += 1
      if let value, value > Self.maximumCount { throw problem("counts go up to \(Self.maximumCount)") }
    }
    return value
  }

  private mutating func atom(depth: Int) throws(PatternProblem) -> PatternNode {
    guard let scalar = next else { throw problem("the pattern ends too early") }
    switch scalar {
    case "(":
      at += 1
      if take("?"), !take(":") {
        throw problem("(?: ) is the only group that starts with (?; lookaround, flags and names are not supported")
      }
      let node = try choice(depth: depth + 1)
      guard take(")") else { throw problem("a ) is missing") }
      return node
    case "[":
      at += 1
      return .scalar(try bracket())
    case ".":
      at += 1
      return .scalar(.anyButNewline)
    case "\\":
      at += 1
      return .scalar(try escape(inBracket: false))
    case "*", "+", "?", "{": throw problem("nothing before the quantifier \(scalar); put a backslash before it")
    case "}", "]": throw problem("a \(scalar) by itself; put a backslash before it")
    case "^": throw problem("^ is allowed only at the beginning; put a backslash before it to match the character")
    case "$": throw problem("$ is allowed only at the end; put a backslash before it to match the character")
    default:
      at += 1
      return .scalar(ScalarSet(scalar))
    }
  }

  /// Parses the characters between `[` and `]`.
  private mutating func bracket() throws(PatternProblem) -> ScalarSet {
    var parts: [ScalarSet] = []
    let isNegated = take("^")
    var isFirst = true
    while !take("]") {
      guard let scalar = next else { throw problem("a ] is missing") }
      if scalar == "[" { throw problem("a [ within [ ]; put a backslash before it") }
      if scalar == "-", !isFirst, at + 1 < scalars.count, scalars[at + 1] != "]" {
        throw problem("a - that is not between two characters, first or last; put a backslash before it")
      }
      if scalar == "&", at + 1 < scalars.count, scalars[at + 1] == "&" {
        throw problem("&& within [ ]; put a backslash before it")
      }
      isFirst = false
      let lower = try bracketItem()
      guard let first = lower.only, next == "-", at + 1 < scalars.count, scalars[at + 1] != "]" else {
        parts.append(lower)
        continue
      }
      at += 1
      guard next != "[", let last = try bracketItem().only else { throw problem("a range ends in one character") }
      guard first <= last else { throw problem("\(first)-\(last) has its ends in the wrong order") }
      parts.append(ScalarSet(first, through: last))
    }
    if parts.isEmpty { throw problem("[] holds nothing") }
    let set = ScalarSet(union: parts)
    return isNegated ? set.negated : set
  }

  private mutating func bracketItem() throws(PatternProblem) -> ScalarSet {
    guard let scalar = next else { throw problem("a ] is missing") }
    at += 1
    return scalar == "\\" ? try escape(inBracket: true) : ScalarSet(scalar)
  }

  /// Parses the characters after a backslash.
  private mutating func escape(inBracket: Bool) throws(PatternProblem) -> ScalarSet {
    guard let scalar = next else { throw problem("a backslash at the end; put another one before it") }
    at += 1
    switch scalar {
    case "d": return .digits
    case "D": return ScalarSet.digits.negated
    case "w": return .word
    case "W": return ScalarSet.word.negated
    case "s": return .space
    case "S": return ScalarSet.space.negated
    case "t": return ScalarSet("\t")
    case "n": return ScalarSet("\n")
    case "r": return ScalarSet("\r")
    case "x": return ScalarSet(try hexadecimal(2))
    case "u": return ScalarSet(try hexadecimal(4))
    default:
      guard scalar.isASCII, !scalar.properties.isAlphabetic, scalar.asciiDigit == nil else {
        throw problem("\\\(scalar) is not supported; there are \\d \\w \\s \\D \\W \\S \\t \\n \\r \\xhh \\uhhhh")
      }
      return ScalarSet(scalar)
    }
  }

  private mutating func hexadecimal(_ count: Int) throws(PatternProblem) -> Unicode.Scalar {
    var value: UInt32 = 0
    for _ in 0..<count {
      guard let digit = next.flatMap({ $0.isASCII ? Character($0).hexDigitValue : nil }) else {
        throw problem("expected \(count) hexadecimal digits")
      }
      value = value << 4 | UInt32(digit)
      at += 1
    }
    guard let scalar = Unicode.Scalar(value) else { throw problem("there is no such character") }
    return scalar
  }
}

extension Unicode.Scalar {
  fileprivate var asciiDigit: Int? { ("0"..."9").contains(self) ? Int(value) - 48 : nil }
}

/// A set of Unicode scalars.
struct ScalarSet: Hashable {
  /// Sorted ranges that neither overlap nor touch.
  let ranges: [ClosedRange<UInt32>]

  init(_ scalar: Unicode.Scalar) { ranges = [scalar.value...scalar.value] }
  private init(_ ranges: [ClosedRange<UInt32>]) { self.ranges = ranges }

  /// ASCII digits only, as `Int` reads them.
  static let digits = ScalarSet([0x30...0x39])
  static let word = ScalarSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
  static let space = ScalarSet([0x09...0x0D, 0x20...0x20])
  static let anyButNewline = ScalarSet("\n").negated

  /// The scalar, if the set has exactly one.
  var only: Unicode.Scalar? {
    ranges.count == 1 && ranges[0].count == 1 ? Unicode.Scalar(ranges[0].lowerBound) : nil
  }

  /// Binary search: a match calls this for each character of the text, and a set may have thousands of ranges.
  func contains(_ scalar: UInt32) -> Bool {
    let index = ranges.partitioningIndex { $0.upperBound >= scalar }
    return index < ranges.count && ranges[index].lowerBound <= scalar
  }

  init(_ first: Unicode.Scalar, through last: Unicode.Scalar) { ranges = [first.value...last.value] }

  /// Merges all sets at once: merging them one by one would sort sets of thousands of ranges thousands of times.
  init(union sets: [ScalarSet]) {
    var joined: [ClosedRange<UInt32>] = []
    for range in sets.flatMap(\.ranges).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, range.lowerBound <= last.upperBound + 1 {
        joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    ranges = joined
  }

  /// All other scalars.
  var negated: ScalarSet {
    var others: [ClosedRange<UInt32>] = []
    var start: UInt32 = 0
    for range in ranges {
      if range.lowerBound > start { others.append(start...range.lowerBound - 1) }
      start = range.upperBound + 1
    }
    if start <= 0x10FFFF { others.append(start...0x10FFFF) }
    return ScalarSet(others)
  }
}

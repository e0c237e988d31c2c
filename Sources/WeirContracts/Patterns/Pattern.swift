// Pattern: a regular expression that is matched in linear time.
//
// A contract checks any text that events contain. A backtracking engine takes time for a pattern such as (a+)+$ that
// doubles with each character: 30 characters take minutes. This implementation never backtracks. It is Glushkov's
// automaton: each place in the pattern where a character can stand is a position, and a set of bits holds the positions
// that the text so far may have reached.

import Weir

/// A compiled regular expression. Matches whole texts, by Unicode scalars.
struct Pattern: Sendable {
  /// The maximum number of positions of a pattern, with `{n,m}` expanded.
  static let maximumPositions = 512

  /// Longer texts don't match. Together with ``maximumPositions``, this limits the cost of a match.
  static let maximumTextBytes = 16 << 10

  /// The number of words in a set of positions.
  private let words: Int
  private let first: [UInt64]
  private let last: [UInt64]
  private let matchesEmpty: Bool
  /// For each position, `words` words with the positions that may follow.
  private let follow: [UInt64]
  /// For each ASCII character, `words` words with the positions where it can stand.
  private let ascii: [UInt64]
  /// The character sets, without duplicates: a count may expand to a hundred positions with the same set.
  private let sets: [ScalarSet]
  /// For each character set, `words` words with its positions.
  private let places: [UInt64]

  /// The number of positions.
  let positions: Int

  /// Compiles `pattern`, or throws the problem.
  init(_ pattern: String) throws(PatternProblem) {
    let tree = try PatternParser.parse(pattern)
    let count = Self.positions(of: tree)
    guard count <= Self.maximumPositions else {
      throw PatternProblem(
        message: "it is too long: expanded, it has \(count) characters; the limit is \(Self.maximumPositions)")
    }
    var builder = AutomatonBuilder(positions: count)
    let part = builder.add(tree)
    words = builder.words
    first = part.first
    last = part.last
    matchesEmpty = part.isNullable
    follow = builder.follow
    sets = builder.sets
    places = builder.places
    positions = count
    var ascii = [UInt64](repeating: 0, count: 128 * words)
    for (number, set) in sets.enumerated() {
      for scalar in 0..<128 where set.contains(UInt32(scalar)) {
        for word in 0..<words { ascii[scalar * words + word] |= places[number * words + word] }
      }
    }
    self.ascii = ascii
  }

  /// Counts positions before anything is expanded. Saturates.
  private static func positions(of node: PatternNode) -> Int {
    switch node {
    case .empty: return 0
    case .scalar: return 1
    case .sequence(let parts), .choice(let parts):
      return parts.reduce(0) { min($0 + positions(of: $1), 1 << 30) }
    case .repetition(let inner, let min, let max):
      let (count, isTooMuch) = positions(of: inner).multipliedReportingOverflow(by: max ?? Swift.max(min, 1))
      return isTooMuch ? 1 << 30 : Swift.min(count, 1 << 30)
    }
  }

  /// Returns whether the pattern matches the whole text.
  func matches(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { utf8 in
      if utf8.isEmpty { return matchesEmpty }
      if utf8.count > Self.maximumTextBytes || sets.isEmpty { return false }
      return words == 1 ? matchesInOneWord(utf8) : matchesInWords(utf8)
    }
  }

  private func matchesInOneWord(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    follow.withUnsafeBufferPointer { follow in
      ascii.withUnsafeBufferPointer { ascii in
        var reachable = first[0]
        var active: UInt64 = 0
        var at = 0
        while at < utf8.count {
          let byte = utf8[at]
          if byte < 0x80 {
            active = reachable & ascii[Int(byte)]
            at += 1
          } else {
            active = activeInOneWord(Self.scalar(utf8, &at), reachable)
          }
          if active == 0 { return false }
          reachable = 0
          var rest = active
          while rest != 0 {
            reachable |= follow[rest.trailingZeroBitCount]
            rest &= rest - 1
          }
        }
        return active & last[0] != 0
      }
    }
  }

  private func matchesInWords(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2 * words) { buffer in
      let active = UnsafeMutableBufferPointer(rebasing: buffer[..<words])
      let reachable = UnsafeMutableBufferPointer(rebasing: buffer[words...])
      active.initialize(repeating: 0)
      _ = reachable.initialize(from: first)
      var at = 0
      while at < utf8.count {
        let byte = utf8[at]
        if byte < 0x80 {
          for word in 0..<words { active[word] = reachable[word] & ascii[Int(byte) * words + word] }
          at += 1
        } else {
          activate(active, Self.scalar(utf8, &at), reachable)
        }
        if active.allSatisfy({ $0 == 0 }) { return false }
        reachable.update(repeating: 0)
        for word in 0..<words {
          var rest = active[word]
          while rest != 0 {
            let from = (word * 64 + rest.trailingZeroBitCount) * words
            for next in 0..<words { reachable[next] |= follow[from + next] }
            rest &= rest - 1
          }
        }
      }
      return (0..<words).contains { active[$0] & last[$0] != 0 }
    }
  }

  /// Returns the reachable positions where `scalar` can stand. Each character set is tested once, and only if the text
  /// may have reached one of its positions. Testing sets of thousands of characters for each position would delay a
  /// check by seconds.
  private func activeInOneWord(_ scalar: UInt32, _ reachable: UInt64) -> UInt64 {
    var active: UInt64 = 0
    for (number, set) in sets.enumerated() where reachable & places[number] != 0 && set.contains(scalar) {
      active |= reachable & places[number]
    }
    return active
  }

  /// Does the same for sets of several words.
  private func activate(
    _ active: UnsafeMutableBufferPointer<UInt64>, _ scalar: UInt32, _ reachable: UnsafeMutableBufferPointer<UInt64>
  ) {
    active.update(repeating: 0)
    for (number, set) in sets.enumerated() {
      let start = number * words
      let isReachable = (0..<words).contains { reachable[$0] & places[start + $0] != 0 }
      guard isReachable, set.contains(scalar) else { continue }
      for word in 0..<words { active[word] |= reachable[word] & places[start + word] }
    }
  }

  /// Decodes the scalar of two to four bytes at `at`, and moves `at` behind it. The bytes are those of a String, so
  /// they are valid.
  private static func scalar(_ utf8: UnsafeBufferPointer<UInt8>, _ at: inout Int) -> UInt32 {
    let lead = utf8[at]
    let count = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
    var scalar = UInt32(lead) & (0x7F >> UInt32(count))
    for index in 1..<count { scalar = scalar << 6 | UInt32(utf8[at + index] & 0x3F) }
    at += count
    return scalar
  }
}

/// Numbers the positions of a pattern, and records which may follow which.
private struct AutomatonBuilder {
  /// A part of the pattern: its first and last positions, and whether it matches the empty text.
  struct Part {
    var first: [UInt64]
    var last: [UInt64]
    var isNullable: Bool
  }

  let words: Int
  var follow: [UInt64]
  private(set) var count = 0
  /// The character sets, without duplicates.
  private(set) var sets: [ScalarSet] = []
  /// For each character set, `words` words with its positions.
  private(set) var places: [UInt64] = []

  init(positions: Int) {
    words = max(1, (positions + 63) / 64)
    follow = [UInt64](repeating: 0, count: positions * words)
  }

  private var none: [UInt64] { [UInt64](repeating: 0, count: words) }

  mutating func add(_ node: PatternNode) -> Part {
    switch node {
    case .empty: return Part(first: none, last: none, isNullable: true)
    case .scalar(let set):
      var only = none
      only[count / 64] |= 1 << UInt64(count % 64)
      let number = self.number(of: set)
      for word in 0..<words { places[number * words + word] |= only[word] }
      count += 1
      return Part(first: only, last: only, isNullable: false)
    case .sequence(let parts):
      return parts.reduce(Part(first: none, last: none, isNullable: true)) { joined, part in
        join(joined, add(part))
      }
    case .choice(let parts):
      return parts.reduce(Part(first: none, last: none, isNullable: false)) { together, part in
        let part = add(part)
        return Part(
          first: union(together.first, part.first), last: union(together.last, part.last),
          isNullable: together.isNullable || part.isNullable)
      }
    case .repetition(let inner, let min, let max): return add(inner, min: min, max: max)
    }
  }

  /// Returns the number of a character set. All sets of a pattern together have at most as many ranges as the pattern
  /// has characters, so a linear search is cheap.
  private mutating func number(of set: ScalarSet) -> Int {
    if let number = sets.firstIndex(of: set) { return number }
    sets.append(set)
    places += none
    return sets.count - 1
  }

  /// Adds the expansion of `{n,m}`: n copies of the part, followed by optional copies. Without an upper bound, the last
  /// copy repeats itself.
  private mutating func add(_ inner: PatternNode, min: Int, max: Int?) -> Part {
    var joined = Part(first: none, last: none, isNullable: true)
    for index in 0..<(max ?? Swift.max(min, 1)) {
      let before = count
      var part = add(inner)
      // Repetitions of an empty part are empty. Expanding nested repetitions of it would take forever.
      if count == before { return part }
      if max == nil, index + 1 >= min { connect(part.last, to: part.first) }
      if index >= min { part.isNullable = true }
      joined = join(joined, part)
    }
    return joined
  }

  private mutating func join(_ left: Part, _ right: Part) -> Part {
    connect(left.last, to: right.first)
    return Part(
      first: left.isNullable ? union(left.first, right.first) : left.first,
      last: right.isNullable ? union(left.last, right.last) : right.last,
      isNullable: left.isNullable && right.isNullable)
  }

  private mutating func connect(_ left: [UInt64], to right: [UInt64]) {
    for word in 0..<words {
      var rest = left[word]
      while rest != 0 {
        let from = (word * 64 + rest.trailingZeroBitCount) * words
        for next in 0..<words { follow[from + next] |= right[next] }
        rest &= rest - 1
      }
    }
  }

  private func union(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
    zip(left, right).map { $0 | $1 }
  }
}

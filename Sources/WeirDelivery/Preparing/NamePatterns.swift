// NamePatterns: patterns of event names, in which * stands for any text.

/// Tells which names match one of some patterns.
struct NamePatterns: Sendable {
  private let names: Set<String>
  /// The bytes of each pattern between its asterisks, for patterns with asterisks.
  private let pieces: [[[UInt8]]]

  init(_ patterns: [String]) {
    names = Set(patterns.filter { !$0.utf8.contains(UInt8(ascii: "*")) })
    pieces = patterns.filter { $0.utf8.contains(UInt8(ascii: "*")) }.map { pattern in
      pattern.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init)
    }
  }

  func match(_ name: String) -> Bool {
    if names.contains(name) { return true }
    guard !pieces.isEmpty else { return false }
    let bytes = Array(name.utf8)
    return pieces.contains { Self.match(bytes, $0) }
  }

  /// The first piece must begin the name, and the last must end the name. The pieces between are searched from front to
  /// back, each at the first place that fits, which leaves most for the next.
  private static func match(_ name: [UInt8], _ pieces: [[UInt8]]) -> Bool {
    guard let first = pieces.first, let last = pieces.last, name.starts(with: first),
      name.count >= first.count + last.count, name.suffix(last.count).elementsEqual(last)
    else { return false }
    var rest = name[first.count..<name.count - last.count]
    for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
      guard let place = rest.indices.first(where: { rest[$0...].starts(with: piece) }) else { return false }
      rest = rest[(place + piece.count)...]
    }
    return true
  }
}

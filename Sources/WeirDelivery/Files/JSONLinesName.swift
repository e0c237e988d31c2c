// JSONLinesName: the names of the files that JSONLinesProvider writes. A name shows which events are in a file, and how
// much of an open file counts. The provider keeps no other records about its files.

import Weir

/// The name of a file of one provider.
///
///     NAME-00000000000000000500-00000000000000001499-8f3a2c55d0b1e677.jsonl
///     NAME-00000000000000001500-00000000000000001999-8f3a2c55d0b1e677.jsonl.lz4.open-183204
///
/// Offsets have 20 digits, so that the names sort like the events. The opening has 16 hexadecimal digits.
struct JSONLinesName: Hashable, Sendable {
  let provider: String
  /// The opening that captured all events in the file.
  let opening: UInt64
  /// The offset of the first event.
  let first: Offset
  /// The offset of the last event. Some offsets in between may not be in the file.
  var last: Offset
  let isCompressed: Bool
  /// The number of bytes of an open file that count: all bytes that were ever acknowledged. `nil` if the file is
  /// finished.
  var openBytes: Int?

  /// Creates the name of the file whose first event is `event`.
  init(_ provider: String, startingWith event: PreparedEvent, isCompressed: Bool) {
    self.provider = provider
    opening = event.id.opening
    first = event.offset
    last = event.offset
    self.isCompressed = isCompressed
  }

  /// Parses a file's name. Returns `nil` if the file is not this provider's.
  init?(_ text: String, of provider: String) {
    var rest = Substring(text)
    if let range = rest.range(of: Self.openMark) {
      guard let bytes = Int(rest[range.upperBound...]), String(bytes) == rest[range.upperBound...], bytes > 0 else {
        return nil
      }
      openBytes = bytes
      rest = rest[..<range.lowerBound]
    }
    isCompressed = rest.hasSuffix(Self.compressedSuffix)
    let suffix = isCompressed ? Self.compressedSuffix : Self.plainSuffix
    guard rest.hasSuffix(suffix), rest.hasPrefix(provider + "-") else { return nil }
    let parts = rest.dropLast(suffix.count).dropFirst(provider.utf8.count + 1)
      .split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, let first = Offset(parts[0]), let last = Offset(parts[1]), first <= last,
      let opening = UInt64(parts[2], radix: 16)
    else { return nil }
    self.provider = provider
    self.opening = opening
    self.first = first
    self.last = last
    // A name in another spelling is not this provider's; otherwise one file could have two names.
    guard self.text == text else { return nil }
  }

  private static let openMark = ".open-"
  private static let plainSuffix = ".jsonl"
  private static let compressedSuffix = ".jsonl.lz4"

  /// The name of a file of which nothing is acknowledged yet.
  static func new(_ provider: String) -> String { provider + ".jsonl.new" }

  /// The name of the file that the writer of the other files locks.
  static func lock(_ provider: String) -> String { provider + ".lock" }

  /// The file's name in the directory.
  var text: String {
    let digits = String(opening, radix: 16)
    let stem = "\(provider)-\(Self.padded(first))-\(Self.padded(last))-"
    return stem + String(repeating: "0", count: 16 - digits.count) + digits
      + (isCompressed ? Self.compressedSuffix : Self.plainSuffix) + (openBytes.map { "\(Self.openMark)\($0)" } ?? "")
  }

  /// The name that the file has once it is finished.
  var finished: JSONLinesName {
    var name = self
    name.openBytes = nil
    return name
  }

  private static func padded(_ offset: Offset) -> String {
    let digits = String(offset)
    return String(repeating: "0", count: 20 - digits.count) + digits
  }
}

extension Substring {
  /// Returns the place of `text`, or `nil` if it does not occur. Avoids Foundation, of which nothing else is needed
  /// here.
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      formIndex(after: &start)
    }
    return nil
  }
}

// JSONLinesName: the names of the files that JSONLinesProvider writes. They say which events are in a file, and of one
// that is still open how much of it counts: they are all that the provider keeps about its files.

import Weir

/// The name of a file of one provider.
///
///     NAME-00000000000000000500-00000000000000001499-8f3a2c55d0b1e677.jsonl
///     NAME-00000000000000001500-00000000000000001999-8f3a2c55d0b1e677.jsonl.lz4.open-183204
///
/// Offsets have 20 digits so that names sort as the events do, the opening 16 hexadecimal ones.
struct JSONLinesName: Hashable, Sendable {
  let provider: String
  /// The opening that captured all events in the file.
  let opening: UInt64
  /// The offset of the first event.
  let first: Offset
  /// The offset of the last event. Between them there may be some that are not in the file.
  var last: Offset
  let isCompressed: Bool
  /// How many bytes of an open file count: all that were ever acknowledged. Nil: the file is finished.
  var openBytes: Int?

  /// The name of the file that holds `event` first.
  init(_ provider: String, startingWith event: StoredEvent, isCompressed: Bool) {
    self.provider = provider
    opening = event.id.opening
    first = event.offset
    last = event.offset
    self.isCompressed = isCompressed
  }

  /// Reads a file's name; nil if it is none of this provider's.
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
    // What is spelled otherwise is somebody else's, or there would be two names for one thing.
    guard self.text == text else { return nil }
  }

  private static let openMark = ".open-"
  private static let plainSuffix = ".jsonl"
  private static let compressedSuffix = ".jsonl.lz4"

  /// The name of a file that nothing of is acknowledged yet.
  static func new(_ provider: String) -> String { provider + ".jsonl.new" }

  /// The name of the file that is locked by who writes the others.
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
  /// Where `text` is, in bytes; nil if it is not there. Of Foundation's method of the kind nothing else is needed here.
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      formIndex(after: &start)
    }
    return nil
  }
}

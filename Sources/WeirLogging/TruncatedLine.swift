// TruncatedLine: a line that is larger than the largest event, cut until it fits.

import Logging
import Weir

/// A line whose longest texts are cut.
struct TruncatedLine {
  /// The shortest text that is still cut, in bytes.
  private static let shortestLimit = 16

  let label: String
  let event: LogEvent
  /// All metadata, storable.
  let metadata: Logger.Metadata

  /// Encodes the line into `memory`, and returns its fields. The line fits unless the names of the fields alone do not
  /// fit, without the metadata.
  func encode(into memory: UnsafeMutableRawBufferPointer) -> UnsafeRawBufferPointer? {
    for keepsMetadata in [true, false] {
      var limit = memory.count / 2
      while limit >= Self.shortestLimit {
        guard var writer = LineWriter(memory) else { return nil }
        put(limit, keepsMetadata: keepsMetadata, to: &writer)
        if !writer.isFull { return writer.finish() }
        limit /= 2
      }
    }
    return nil
  }

  /// Puts the line with no text of more than `limit` bytes.
  private func put(_ limit: Int, keepsMetadata: Bool, to writer: inout LineWriter) {
    var cut = Truncation(limit)
    var event = event
    event.message = .init(stringLiteral: cut.text(event.message.description))
    event.source = cut.text(event.source)
    event.file = cut.text(event.file)
    event.function = cut.text(event.function)
    let label = cut.text(label)
    if !keepsMetadata { cut.leaveOut(metadata) }
    _ = writer.put(event, label: label, given: keepsMetadata ? cut.members(metadata) : [:], inherited: [:])
    writer.put("truncated", UInt64(cut.missingBytes))
  }
}

/// Cuts texts, and counts what is missing.
private struct Truncation {
  private static let mark = "…"

  private(set) var missingBytes = 0
  private let limit: Int

  init(_ limit: Int) { self.limit = limit }

  /// The text, or its beginning and a mark.
  mutating func text(_ text: String) -> String {
    let bytes = text.utf8
    guard bytes.count > limit else { return text }
    var end = bytes.index(bytes.startIndex, offsetBy: limit - Self.mark.utf8.count)
    // Not within a character's bytes.
    while end > bytes.startIndex, bytes[end] & 0b1100_0000 == 0b1000_0000 { end = bytes.index(before: end) }
    missingBytes += bytes[end...].count
    return text[..<end] + Self.mark
  }

  /// The members whose keys are not too long. A key is never cut: two keys might become one.
  mutating func members(_ members: Logger.Metadata) -> Logger.Metadata {
    var kept = Logger.Metadata(minimumCapacity: members.count)
    for (key, value) in members {
      if key.utf8.count > limit { leaveOut([key: value]) } else { kept[key] = self.value(value) }
    }
    return kept
  }

  private mutating func value(_ value: Logger.MetadataValue) -> Logger.MetadataValue {
    switch value {
    case .string(let text): .string(self.text(text))
    case .stringConvertible(let convertible):
      if case .text(let text) = Scalar(convertible) { .string(self.text(text)) } else { value }
    case .array(let values): .array(values.map { self.value($0) })
    case .dictionary(let members): .dictionary(self.members(members))
    }
  }

  /// Counts members as missing.
  mutating func leaveOut(_ members: Logger.Metadata) {
    for (key, value) in members {
      missingBytes += key.utf8.count
      leaveOut(value)
    }
  }

  private mutating func leaveOut(_ value: Logger.MetadataValue) {
    switch value {
    case .string(let text): missingBytes += text.utf8.count
    case .stringConvertible(let convertible): missingBytes += convertible.description.utf8.count
    case .array(let values): for value in values { leaveOut(value) }
    case .dictionary(let members): leaveOut(members)
    }
  }
}

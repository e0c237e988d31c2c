// CatLine.swift: the lines of `weir cat`, read by Foundation's JSON parser, which shares nothing with their writer.
import Foundation

/// One line of `weir cat`.
struct CatLine: @unchecked Sendable {  // `fields` holds only immutable values out of JSONSerialization
  var offset: UInt64
  var id: String
  var time: String
  var event: String
  var fields: [String: Any]
  /// The line itself: two readings of the same event must give the same bytes.
  var raw: Data

  /// A record of the log's own (weir.gap, weir.hole), not an event that was captured.
  var isNotice: Bool { event.hasPrefix("weir.") }
  /// The opening that captured it.
  var opening: Substring { id.prefix(16) }
  /// The lane it was captured in.
  var lane: UInt64 { UInt64(id.dropFirst(16).prefix(4), radix: 16) ?? .max }
  /// The position in that lane, in eighths.
  var lanePosition: UInt64 { UInt64(id.dropFirst(20), radix: 16) ?? .max }
  var text: String? { fields["text"] as? String }

  static func rawLines(_ output: Data) -> [Data] {
    output.split(separator: UInt8(ascii: "\n"))
  }

  static func parse(_ output: Data) throws -> [CatLine] {
    try rawLines(output).map { try CatLine($0) }
  }

  init(_ line: Data) throws {
    guard let object = try JSONSerialization.jsonObject(with: line) as? [String: Any],
      object.count == 5,
      let offset = object["offset"] as? NSNumber,
      let id = object["id"] as? String, id.utf8.count == 32, id.utf8.allSatisfy({ $0.isHexDigit }),
      let time = object["time"] as? String,
      let event = object["event"] as? String,
      let fields = object["fields"] as? [String: Any]
    else {
      throw ChildProblem(description: "not a line of weir cat: \(String(decoding: line, as: UTF8.self))")
    }
    self.offset = offset.uint64Value
    self.id = id
    self.time = time
    self.event = event
    self.fields = fields
    raw = line
  }
}

extension UInt8 {
  fileprivate var isHexDigit: Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
  }
}

// JSONLinesSource: the events of a file of JSON Lines as a side.

import Weir

/// A file with one JSON object a line. A place is the position of the line in the file.
struct JSONLinesSource: EventSource {
  private static let chunkBytes = 1 << 20
  /// The maximum size of a line, in bytes.
  private static let mostLineBytes = 64 << 20

  let file: ControlFile
  /// The form of all lines; `nil` to tell it from each line's keys.
  let form: ControlForm?
  /// The zone of times without one; `nil` for Universal Time.
  var zone: ControlZone?
  /// Where the first line begins that is read.
  var start = 0

  var hasForeignIDs: Bool { true }

  /// A line belongs to the part in which it begins.
  func parts(_ count: Int) -> [Range<Int>] {
    let size = max(1 << 16, (file.byteCount - start + count - 1) / count)
    return stride(from: start, to: file.byteCount, by: size).map { $0..<min($0 + size, file.byteCount) }
  }

  func read(
    _ part: Range<Int>, _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void
  ) throws(WeirError) -> UInt64 {
    var bad: UInt64 = 0
    // The byte before tells whether a line begins at the part's start.
    var isInside = part.lowerBound > 0
    try lines(from: isInside ? part.lowerBound - 1 : 0) { line, place throws(WeirError) in
      if isInside {
        // The end of a line that began before.
        isInside = false
        return true
      }
      guard place < part.upperBound else { return false }
      if let event = event(of: line) { try body(event, UInt64(place)) } else { bad += 1 }
      return true
    }
    return bad
  }

  func read(at places: [UInt64], _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void) throws(WeirError) {
    var index = 0
    while index < places.count {
      let (first, before) = (Int(places[index]), index)
      // One read for the lines that are near.
      try lines(from: first) { line, place throws(WeirError) in
        guard index < places.count, Int(places[index]) < first + Self.chunkBytes else { return false }
        guard place == Int(places[index]) else { return true }
        index += 1
        if let event = event(of: line) { try body(event, UInt64(place)) }
        return true
      }
      // A file that was cut or written anew has no line there any more.
      if index == before { index += 1 }
    }
  }

  private func event(of line: Span<UInt8>) -> ComparedEvent? {
    guard let object = JSONObject.read(line) else { return nil }
    var event = (form ?? ControlForm.of(object)).event(of: object)
    if let zone, event != nil { zone.apply(to: &event!) }
    return event
  }

  /// Passes the lines from a position on to `body`, with their positions, until `body` returns `false`. Empty lines are
  /// left out, except the first line.
  private func lines(
    from start: Int, _ body: (Span<UInt8>, Int) throws(WeirError) -> Bool
  ) throws(WeirError) {
    var chunk: [UInt8] = []
    var position = start
    var isFirst = true
    while position < file.byteCount {
      var wanted = Self.chunkBytes
      chunk = try file.bytes(wanted, at: position)
      // A line that is longer than a chunk.
      while chunk.count == wanted, chunk.firstIndex(of: UInt8(ascii: "\n")) == nil, wanted < Self.mostLineBytes {
        wanted *= 2
        chunk = try file.bytes(wanted, at: position)
      }
      guard !chunk.isEmpty else { return }
      let isLast = position + chunk.count >= file.byteCount
      var from = 0
      while from < chunk.count {
        let newline = chunk[from...].firstIndex(of: UInt8(ascii: "\n"))
        guard let end = newline ?? (isLast || from == 0 ? chunk.count : nil) else { break }
        if end > from || isFirst {
          guard try body(chunk.span.extracting(from..<end), position + from) else { return }
        }
        isFirst = false
        from = end + 1
      }
      position += min(from, chunk.count)
    }
  }
}

// JSONLinesIndex: finds out which events are in the finished files of a JSONLinesProvider, so that an event that is
// delivered again is not written again.

import Weir

/// The offsets of events, added in rising order.
struct OffsetList: Sendable {
  private var ranges: [ClosedRange<Offset>] = []

  var last: Offset? { ranges.last?.upperBound }

  /// Adds an offset above all existing offsets. Ignores any other offset.
  mutating func add(_ offset: Offset) {
    guard let last = ranges.last else { return ranges.append(offset...offset) }
    guard offset > last.upperBound else { return }
    if offset == last.upperBound + 1 {
      ranges[ranges.count - 1] = last.lowerBound...offset
    } else {
      ranges.append(offset...offset)
    }
  }

  func contains(_ offset: Offset) -> Bool {
    let index = ranges.partitioningIndex { $0.upperBound >= offset }
    return index < ranges.count && ranges[index].contains(offset)
  }
}

/// The finished files, by their names. A file is read only if an event comes that the file may contain by its name.
/// That happens after a kill, and when a cursor was lost. The contents of the last file read are cached.
struct JSONLinesIndex {
  private struct Files {
    var names: [JSONLinesName] = []
    /// The largest offset in any file. Nearly all events have larger offsets, and are looked up in no file.
    var last: Offset = 0

    mutating func add(_ name: JSONLinesName) {
      names.append(name)
      last = max(last, name.last)
    }
  }

  private let directory: Descriptor
  private let calls: SystemCalls
  private var files: [UInt64: Files] = [:]
  private var read: (name: JSONLinesName, offsets: OffsetList)?

  init(_ directory: Descriptor, _ calls: SystemCalls) {
    self.directory = directory
    self.calls = calls
  }

  mutating func add(_ name: JSONLinesName) {
    files[name.opening, default: Files()].add(name)
  }

  /// The largest offset in any file of this opening; 0 if there is none.
  func last(of opening: UInt64) -> Offset { files[opening]?.last ?? 0 }

  /// Returns whether a finished file that still exists contains this event. If the file was taken away, the event is
  /// written again, with its id.
  mutating func contains(_ offset: Offset, of opening: UInt64) throws(WeirError) -> Bool {
    guard let files = files[opening], offset <= files.last else { return false }
    for name in files.names where (name.first...name.last).contains(offset) {
      if try offsets(in: name).contains(offset) { return true }
    }
    return false
  }

  private mutating func offsets(in name: JSONLinesName) throws(WeirError) -> OffsetList {
    if let read, read.name == name { return read.offsets }
    let offsets = try JSONLinesScan(opening: name.opening).offsets(of: name, in: directory, calls)
    read = (name, offsets)
    return offsets
  }
}

/// Reads the offsets in a file from the beginnings of its lines. `EventJSON` always writes them in the same form:
/// `{"id":"8f3a2c55d0b1e6770000000000000005","offset":500,`.
struct JSONLinesScan {
  private static let pieceBytes = 1 << 20
  /// The number of bytes of a line that are examined.
  private static let headBytes = 80

  private let opening: UInt64
  private var offsets = OffsetList()
  private var head: [UInt8] = []

  init(opening: UInt64) {
    self.opening = opening
  }

  /// Returns the offsets in the file, as far as it can be read: none if the file does not exist, and the offsets before
  /// the damage if it is damaged.
  consuming func offsets(
    of name: JSONLinesName, in directory: Descriptor, _ calls: SystemCalls
  ) throws(WeirError) -> OffsetList {
    guard let file = try calls.open(name.text, in: directory) else { return offsets }
    let reader = name.isCompressed ? try? LZ4Reader() : nil
    var position = 0
    while true {
      let piece = try calls.read(file, Self.pieceBytes, at: position)
      guard !piece.isEmpty else { return offsets }
      position += piece.count
      if name.isCompressed {
        var scan = self
        guard (try? reader?.read(piece, { scan.take($0) })) != nil else { return scan.offsets }
        self = scan
      } else {
        take(piece[...])
      }
    }
  }

  private mutating func take(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      keep(rest[..<end])
      // A line without its end does not count.
      if let offset = offset() { offsets.add(offset) }
      head.removeAll(keepingCapacity: true)
      rest = rest[(end + 1)...]
    }
    keep(rest)
  }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    head += bytes.prefix(Self.headBytes - head.count)
  }

  /// Returns the offset of the line that starts with ``head``, or `nil` if the line is not an event of this opening.
  private func offset() -> Offset? {
    let digits = head.dropFirst(Self.beforeID.count).prefix(32)
    let rest = head.dropFirst(Self.beforeID.count + 32)
    guard head.starts(with: Self.beforeID), rest.starts(with: Self.beforeOffset),
      EventID(String(decoding: digits, as: UTF8.self))?.opening == opening
    else { return nil }
    let number = rest.dropFirst(Self.beforeOffset.count)
    guard let end = number.firstIndex(of: UInt8(ascii: ",")) else { return nil }
    return Offset(String(decoding: number[..<end], as: UTF8.self))
  }

  private static let beforeID = Array(#"{"id":""#.utf8)
  private static let beforeOffset = Array(#"","offset":"#.utf8)
}

// JSONLinesIndex: which events the finished files of a JSONLinesProvider hold, so that one that comes again is not
// written again.

import Weir

/// Offsets of events, which were added in rising order.
struct OffsetList: Sendable {
  private var ranges: [ClosedRange<Offset>] = []

  var last: Offset? { ranges.last?.upperBound }

  /// Adds an offset above all that are there; any other is left out.
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
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < offset { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(offset)
  }
}

/// The finished files, by what their names say. A file is read only if an event comes that by its name it may hold,
/// which happens after a kill, and when a cursor was lost; of the last one read it is kept what is in it.
struct JSONLinesIndex {
  private struct Files {
    var names: [JSONLinesName] = []
    /// The largest offset in any of them: what comes after it, as nearly all do, is looked for in none.
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

  /// Whether a finished file that is still there has this event. One that was taken away has nothing: the event is
  /// written again, with its id.
  mutating func contains(_ event: StoredEvent) throws(WeirError) -> Bool {
    guard let files = files[event.id.opening], event.offset <= files.last else { return false }
    for name in files.names where (name.first...name.last).contains(event.offset) {
      if try offsets(in: name).contains(event.offset) { return true }
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

/// Reads a file's offsets from the beginnings of its lines, which `EventJSON` writes always alike:
/// `{"id":"8f3a2c55d0b1e6770000000000000005","offset":500,`.
struct JSONLinesScan {
  private static let pieceBytes = 1 << 20
  /// Of a line no more is looked at.
  private static let headBytes = 80

  private let opening: UInt64
  private var offsets = OffsetList()
  private var head: [UInt8] = []

  init(opening: UInt64) {
    self.opening = opening
  }

  /// What is in the file, as far as it can be read: nothing if it is not there, and what comes before the damage if it
  /// is damaged.
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
      // A line counts once it has its end.
      if let offset = offset() { offsets.add(offset) }
      head.removeAll(keepingCapacity: true)
      rest = rest[(end + 1)...]
    }
    keep(rest)
  }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    head += bytes.prefix(Self.headBytes - head.count)
  }

  /// The offset of the line that begins with ``head``; nil if it is not an event of this opening.
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

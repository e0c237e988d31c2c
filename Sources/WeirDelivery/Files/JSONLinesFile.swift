// JSONLinesFile: the open file of a JSONLinesProvider.

import Weir

/// An open file. Events are appended to the file, and are acknowledged by renaming the file.
///
/// Appended events do not count before `acknowledge(finishingAt:)`. That call syncs the file, renames it to the name
/// with the new last offset and the number of bytes that count, and syncs the directory. After a kill or a power cut at
/// any moment, the file has the old name or the new name, and the bytes beyond the number in its name are cut off.
/// After any error, discard the file: the next opening of the directory finishes the file from its name.
final class JSONLinesFile {
  /// The number of encoded bytes that are written at once. Of compressed files more, because a frame compresses better
  /// the larger it is.
  private let pieceBytes: Int

  private(set) var name: JSONLinesName
  /// The offsets of the events in the file, acknowledged or not.
  @exclusivity(unchecked) private(set) var offsets = OffsetList()

  private let file: Descriptor
  private let directory: Descriptor
  private let calls: SystemCalls
  private let lines: EventLines
  /// The file's name in the directory.
  private var current: String
  // Unchecked, as the offsets: the checks took a tenth of the time of an event, and what writes a line knows nothing of
  // the file.
  @exclusivity(unchecked) private var buffer: [UInt8] = []
  private var written = 0

  /// Creates a file that starts with `event`. Does not write the event yet.
  init(
    startingWith event: PreparedEvent, of provider: String, in directory: Descriptor, isCompressed: Bool,
    _ lines: EventLines, _ calls: SystemCalls
  ) throws(WeirError) {
    name = JSONLinesName(provider, startingWith: event, isCompressed: isCompressed)
    current = JSONLinesName.new(provider)
    file = try calls.create(current, in: directory)
    self.directory = directory
    self.calls = calls
    self.lines = lines
    pieceBytes = isCompressed ? 1 << 20 : 256 << 10
  }

  /// Whether events were appended since the last acknowledgement.
  private(set) var isPending = false

  /// Whether the event comes after all events in the file, in the same opening.
  func takes(_ event: PreparedEvent) -> Bool {
    event.id.opening == name.opening && offsets.last.map { event.offset > $0 } ?? true
  }

  /// Appends the event at `index`, for which ``takes(_:)`` must be `true`, and the events after it that the file takes
  /// too, as long as their offsets are above `known`. Returns the index of the first event that was not appended.
  func append(_ events: [PreparedEvent], from index: Int, above known: Offset) throws(WeirError) -> Int {
    var next = index
    var last = events[index].offset
    isPending = true
    repeat {
      lines.append(events[next], to: &buffer)
      buffer.append(UInt8(ascii: "\n"))
      offsets.add(last)
      next += 1
      if buffer.count >= pieceBytes { try write() }
      guard next < events.count, events[next].offset > max(last, known) else { break }
      last = events[next].offset
    } while events[next].id.opening == name.opening
    return next
  }

  private func write() throws(WeirError) {
    guard !buffer.isEmpty else { return }
    let bytes = name.isCompressed ? LZ4Frames.frame(buffer) : buffer
    try calls.write(file, bytes, at: written)
    written += bytes.count
    buffer.removeAll(keepingCapacity: true)
  }

  /// Makes the appended events count, durably. Finishes the file if it has at least `limit` bytes. Returns whether the
  /// file is finished.
  func acknowledge(finishingAt limit: Int) throws(WeirError) -> Bool {
    if isPending {
      try write()
      try calls.syncData(file)
    }
    let isFinished = written >= limit
    name.last = offsets.last ?? name.last
    name.openBytes = isFinished ? nil : written
    try calls.rename(current, to: name.text, in: directory)
    current = name.text
    try calls.syncDirectory(directory)
    isPending = false
    return isFinished
  }
}

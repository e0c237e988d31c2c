// JSONLinesFile: the one file of a JSONLinesProvider that grows.

import Weir

/// An open file: appended to, and acknowledged by giving it the name that says so.
///
/// What is appended is nothing until `acknowledge(finishingAt:)`: the file is synced, then renamed to the name that has
/// the new last offset and the number of bytes that count, then the directory is synced. Killed or cut from power
/// anywhere, the file has the old name or the new one, and what lies beyond the bytes in its name is cut off. After any
/// error the file is to be given up: the next opening of the directory finishes it from its name.
struct JSONLinesFile {
  /// How much is encoded before it is written.
  private static let pieceBytes = 1 << 20

  private(set) var name: JSONLinesName
  /// What is in it, acknowledged or not.
  private(set) var offsets = OffsetList()

  private let file: Descriptor
  private let directory: Descriptor
  private let calls: SystemCalls
  private let json: EventJSON
  /// The name that it has in the directory.
  private var current: String
  private var buffer: [UInt8] = []
  private var written = 0

  /// Makes a file that begins with `event`, which is not in it yet.
  init(
    startingWith event: StoredEvent, of provider: String, in directory: Descriptor, isCompressed: Bool,
    _ json: EventJSON, _ calls: SystemCalls
  ) throws(WeirError) {
    name = JSONLinesName(provider, startingWith: event, isCompressed: isCompressed)
    current = JSONLinesName.new(provider)
    file = try calls.create(current, in: directory)
    self.directory = directory
    self.calls = calls
    self.json = json
  }

  /// Whether something was appended since the last acknowledgement.
  private(set) var isPending = false

  /// Whether the event comes after all that are in the file, in the same opening.
  func takes(_ event: StoredEvent) -> Bool {
    event.id.opening == name.opening && offsets.last.map { event.offset > $0 } ?? true
  }

  /// Appends an event that the file ``takes(_:)``.
  mutating func append(_ event: PreparedEvent) throws(WeirError) {
    json.append(event, to: &buffer)
    buffer.append(UInt8(ascii: "\n"))
    offsets.add(event.stored.offset)
    isPending = true
    if buffer.count >= Self.pieceBytes { try write() }
  }

  private mutating func write() throws(WeirError) {
    guard !buffer.isEmpty else { return }
    let bytes = name.isCompressed ? LZ4Frames.frame(buffer) : buffer
    try calls.write(file, bytes, at: written)
    written += bytes.count
    buffer.removeAll(keepingCapacity: true)
  }

  /// Makes what was appended count, for good. With so many bytes or more the file is finished, which the answer says.
  mutating func acknowledge(finishingAt limit: Int) throws(WeirError) -> Bool {
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

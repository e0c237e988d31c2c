// EventReader: reads a log without writing to it: of this process or another, while its writer lives or after.

import CCapture
import CWeir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads the events of a log, in order of offset.
///
/// ```swift
/// let reader = try EventReader(directory: "/var/lib/shop/events")
/// while let event = try reader.next() {
///   print(event.time, event.name, event.fields)
/// }
/// ```
///
/// **Live logs.** If a process is writing the log, the reader returns the events that are drained. After ``next()`` has
/// returned `nil`, it may be called again to follow the writer: see ``wait(upTo:)``, or
/// ``LogDirectory/follow(from:onSkip:)`` for tasks.
///
/// **Logs of dead processes.** The reader also returns the events that are still in the lanes, with the offsets and ids
/// that the next opening will give them.
///
/// **Damage.** Checksums cover every event that is returned. Damaged stretches are skipped, and reported in
/// ``skipped``.
///
/// **Threads.** Belongs to one thread at a time. Writes nothing and takes no lock.
///
/// **Memory.** Up to 2 MiB for one block, up to 4 MiB for the definitions and contexts of the log, plus 256 KiB for
/// those of one opening. Some thousands of them are also kept as Swift values.
public final class EventReader {
  /// A stretch of the log that was skipped.
  public struct Skip: Hashable, Sendable {
    /// The first missing offset.
    public var firstOffset: Offset
    /// The number of missing offsets; 0 if none is missing, or the number is unknown.
    public var count: UInt64
    /// The file's name in the log's directory.
    public var file: String
    /// The position in the file, in bytes.
    public var position: UInt64
    /// The length of the stretch, in bytes.
    public var bytes: UInt64
    /// The reason, as a phrase.
    public var reason: String
    /// Whether retention or the byte limit removed the events. If so, nothing is damaged.
    public var isRemoval: Bool
  }

  /// The maximum length of ``skipped``.
  public static let maximumSkipped = 1000

  /// The stretches skipped so far, at most the first 1,000.
  public private(set) var skipped: [Skip] = []

  /// The number of stretches skipped so far.
  public private(set) var skippedCount: UInt64 = 0

  /// Called by ``next()`` for each skipped stretch.
  public var onSkip: ((Skip) -> Void)?

  private let reader: OpaquePointer
  // What the core fills in, in memory of the reader's own: clearing an error's room and copying an event took half of
  // the time of passing over an event.
  private let nextEvent: UnsafeMutablePointer<weir_event>
  private let nextSkip: UnsafeMutablePointer<weir_skip>
  private let nextError: UnsafeMutablePointer<weir_error>

  private enum Held {
    case skip(weir_skip)
    case failure(WeirError)
  }
  // Unchecked: the checks took 3 % of the time of an event, and nothing called while these are used leads back here.
  /// What ended a block, to be reported by the next call.
  @exclusivity(unchecked) private var held: Held?
  @exclusivity(unchecked) private var definitions: [UInt64: StoredDefinition] = [:]
  @exclusivity(unchecked) private var contexts = StoredContexts()

  /// Opens a log for reading from an offset. If `includeLanes` is `false`, the events in the lanes of a dead process
  /// are left out.
  ///
  /// Throws a ``WeirError`` with the code `missing`, `directory`, `access`, `version`, `io` or `memory`.
  public init(directory: String, from: Offset = 0, includeLanes: Bool = true) throws(WeirError) {
    try checkPath(directory)
    var options = weir_reader_options()
    weir_reader_options_init(&options)
    options.from_offset = from
    options.skip_lanes = includeLanes ? 0 : 1
    var reader: OpaquePointer?
    try WeirError.check { weir_reader_open(directory, &options, &reader, $0) }
    guard let reader else { throw WeirError(.io, "opening \(directory) gave no reader", path: directory) }
    self.reader = reader
    nextEvent = .allocate(capacity: 1)
    nextEvent.initialize(to: weir_event())
    nextSkip = .allocate(capacity: 1)
    nextSkip.initialize(to: weir_skip())
    nextError = .allocate(capacity: 1)
    nextError.initialize(to: weir_error())
  }

  deinit {
    weir_reader_close(reader)
    nextEvent.deallocate()
    nextSkip.deallocate()
    nextError.deallocate()
  }

  /// Whether a process has the log open for capture at present.
  public var isLive: Bool { weir_reader_is_live(reader) != 0 }

  /// Returns the next event, or `nil` if there is none at present.
  public func next() throws(WeirError) -> StoredEvent? { try nextCore().map { stored($0.pointee) } }

  /// Returns the next event as the core has it, or `nil` if there is none at present. The event is valid until the next
  /// call.
  func nextCore() throws(WeirError) -> UnsafePointer<weir_event>? {
    try reportHeld()
    while true {
      let status = weir_reader_next(reader, nextEvent, nextSkip, nextError)
      switch Int(status) {
      case WEIR_OK: return UnsafePointer(nextEvent)
      case WEIR_END: return nil
      case WEIR_SKIPPED: report(nextSkip.pointee)
      default: throw WeirError(status, nextError.pointee)
      }
    }
  }

  /// Returns the next events, at most `most` of them and few more than `bytes` bytes, or `nil` if there are none at
  /// present. The events are not decoded. Skipped stretches before the first of them were reported when this returns,
  /// and no stretch among them is skipped.
  ///
  /// An event costs a copy of its bytes.
  package func nextBlock(most: Int, bytes: Int) throws(WeirError) -> EventBlock? {
    try reportHeld()
    var builder = EventBlockBuilder(capacity: min(most, 1_024), bytes: min(bytes, 64 << 10))
    var event = weir_event()
    var skip = weir_skip()
    // Cleared once: an error has room for long texts.
    var error = weir_error()
    read: while builder.entries.count < most, builder.bytes.count < bytes {
      let status = weir_reader_next(reader, &event, &skip, &error)
      switch Int(status) {
      case WEIR_OK:
        builder.add(event, definition: { definition(of: event) }, context: { contexts.context(of: event) })
      case WEIR_END: break read
      case WEIR_SKIPPED where builder.isEmpty: report(skip)
      case WEIR_SKIPPED:
        held = .skip(skip)
        break read
      default:
        guard !builder.isEmpty else { throw WeirError(status, error) }
        held = .failure(WeirError(status, error))
        break read
      }
    }
    return builder.isEmpty ? nil : EventBlock(builder)
  }

  private func reportHeld() throws(WeirError) {
    guard let held else { return }
    self.held = nil
    switch held {
    case .skip(let skip): report(skip)
    case .failure(let error): throw error
    }
  }

  func context(of event: weir_event) -> EventContext { contexts.context(of: event) }

  /// Waits until there may be further events. Call ``next()`` then, which may still return `nil`. Returns `false` if
  /// `timeout` passed first. A `timeout` of `nil` waits forever, and a `timeout` of zero only looks.
  ///
  /// Blocks the thread; tasks use ``LogDirectory/follow(from:onSkip:)`` instead. Looks at once after an event was read,
  /// then at intervals that double from 0.2 to 20 ms. A look costs five system calls.
  ///
  /// After two seconds without an event, looks once a second. The system wakes the thread meanwhile when the writer
  /// continues, so the first event after a silence comes as soon as any other. If another machine writes the files, the
  /// first event may come a second late. If all instances of inotify are in use, looks every 20 ms.
  public func wait(upTo timeout: Duration?) -> Bool {
    if held != nil { return true }
    return Int(weir_reader_wait(reader, timeout?.wholeNanoseconds ?? .max)) == WEIR_OK
  }

  /// The way to the next look, for callers that wait for other things too.
  package struct NextLook: Sendable {
    /// How long to sleep at most, before `wait(upTo: .zero)`.
    package var pause: Duration
    /// Becomes readable when the sleep should end. For poll alone: it is the reader's, which reads from it and closes
    /// it. `nil`: sleep the whole time.
    package var descriptor: Int32?
  }

  /// Returns how to sleep until the next look, in place of sleeping in ``wait(upTo:)``.
  package func nextLook() -> NextLook {
    var pause: UInt64 = 0
    let descriptor = weir_reader_descriptor(reader, &pause)
    return NextLook(pause: .nanoseconds(Int64(pause)), descriptor: descriptor < 0 ? nil : descriptor)
  }

  private func report(_ core: weir_skip) {
    let skip = Skip(core)
    skippedCount += 1
    if skipped.count < Self.maximumSkipped { skipped.append(skip) }
    onSkip?(skip)
  }

  /// Copies the event out of the reader's memory.
  func stored(_ event: weir_event) -> StoredEvent {
    let definition = definition(of: event)
    let payload = UnsafeRawBufferPointer(start: event.payload, count: Int(event.payload_bytes))
    // A dynamic event carries its own name. The core has already removed the name from the payload.
    let name = event.type == LogHandle.dynamicType ? StoredDefinition.name(of: event) : definition.name
    // Checksums cover the bytes, but the bytes may not fit the definition. In that case the bytes are returned as
    // they are.
    let fields =
      (try? definition.fields(of: payload)) ?? [unreadField: .bytes(Array(payload))]
    return StoredEvent(
      offset: event.offset, id: EventID(opening: event.id.opening, sequence: event.id.sequence),
      time: Timestamp(nanosecondsSince1970: event.time_ns), name: name, fields: fields,
      declaration: definition.declaration, context: contexts.context(of: event),
      monotonicNanoseconds: event.monotonic_ns == .min ? nil : event.monotonic_ns, bootID: UUID(boot: event.boot_id),
      host: EventBlock.Origin.host(of: event))
  }

  /// Returns the event's definition, parsed once. The cache is emptied when it is full, which happens only to logs with
  /// thousands of openings.
  func definition(of event: weir_event) -> StoredDefinition {
    if let known = definitions[event.definition] { return known }
    let definition = StoredDefinition(event)
    if definitions.count >= 4096 { definitions.removeAll() }
    definitions[event.definition] = definition
    return definition
  }
}

extension EventReader {
  /// Where an event lies.
  package struct Place: Hashable, Sendable {
    /// The file's name in the log's directory: a segment, or `ring` for an event in a lane of a dead process.
    package var file: String
    /// The position of the event's block in the file; of a batch segment, in the segment that was compressed. `nil` for
    /// an event in a lane.
    package var block: UInt64?
  }

  /// Returns the next event with its place, or `nil` if there is none at present.
  package func nextWithPlace() throws(WeirError) -> (event: EncodedEvent, place: Place)? {
    guard let block = try nextBlock(most: 1, bytes: 1) else { return nil }
    var core = weir_event_place()
    weir_reader_place(reader, &core)
    return (block[0], Place(file: text(ofCArray: core.file), block: core.block == 0 ? nil : core.block))
  }

  /// Returns the event with this id, or `nil` if the event does not follow. Earlier events are skipped without being
  /// decoded.
  package func next(where id: EventID) throws(WeirError) -> StoredEvent? {
    while let event = try nextCore() {
      let found = event.pointee.id
      if found.sequence == id.sequence, found.opening == id.opening { return stored(event.pointee) }
    }
    return nil
  }
}

extension EventReader.Skip {
  init(_ core: weir_skip) {
    self.init(
      firstOffset: core.first_offset, count: core.count, file: text(ofCArray: core.file), position: core.position,
      bytes: core.bytes, reason: core.reason.map { String(cString: $0) } ?? "", isRemoval: core.removed != 0)
  }
}

extension EventBlock.Origin {
  init(_ event: weir_event) {
    self.init(boot: UUID(boot: event.boot_id), host: Self.host(of: event))
  }

  static func host(of event: weir_event) -> String? {
    guard let host = event.host else { return nil }
    return String(decoding: UnsafeRawBufferPointer(start: host, count: Int(event.host_bytes)), as: UTF8.self)
  }
}

extension UUID {
  /// Creates a boot's id. `nil` if all bytes are 0, which means that the boot is unknown.
  init?(boot bytes: uuid_t) {
    self.init(uuid: bytes)
    if self == Self.unknownBoot { return nil }
  }

  private static let unknownBoot = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}

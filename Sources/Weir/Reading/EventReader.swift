// EventReader: reads a log, its own process's or another's, live or after its death, without writing to it.

import CCapture
import CWeir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads the events of a log in order of offset.
///
/// ```swift
/// let reader = try EventReader(directory: "/var/lib/shop/events")
/// while let event = try reader.next() {
///   print(event.time, event.name, event.fields)
/// }
/// ```
///
/// Writes nothing and takes no lock. Of a log that a process is writing it gives what is drained, and ``next()`` may be
/// called again after it answered nil, to follow the writer: see ``wait(upTo:)``, and
/// ``LogDirectory/follow(from:onSkip:)`` for tasks. Of a dead process's log it also gives what is still in the lanes,
/// with the offsets and ids that the next opening will give them. Every event it gives is vouched for by checksums;
/// what is damaged is passed over, and reported in ``skipped``.
///
/// Belongs to one thread at a time. Takes up to 2 MiB, one block, and the definitions and contexts that the log has: up
/// to 4 MiB of them, and those of one process, 256 KiB; of these, some thousands also as Swift values.
public final class EventReader {
  /// A stretch of the log that was passed over.
  public struct Skip: Hashable, Sendable {
    /// The first offset that is missing.
    public var firstOffset: Offset
    /// How many are missing; 0 where none is, or none is known to be.
    public var count: UInt64
    /// The file's name in the directory.
    public var file: String
    /// Where in the file.
    public var position: UInt64
    /// How many bytes of it.
    public var bytes: UInt64
    /// Why, in one phrase.
    public var reason: String
    /// It is not there because retention or the byte limit removed it, and not because of any damage.
    public var isRemoval: Bool
  }

  /// The most that ``skipped`` keeps.
  public static let maximumSkipped = 1000

  /// What was passed over so far, the first 1,000 stretches.
  public private(set) var skipped: [Skip] = []

  /// How many stretches were passed over so far.
  public private(set) var skippedCount: UInt64 = 0

  /// Called for each stretch that is passed over, from ``next()``.
  public var onSkip: ((Skip) -> Void)?

  /// Of the last event, the bytes of its fields and of what was bound around its capture.
  package private(set) var lastBytes = 0

  private let reader: OpaquePointer
  private var definitions: [UInt64: StoredDefinition] = [:]
  private var contexts = StoredContexts()

  /// Opens a log for reading, from an offset on. Without `includeLanes`, a dead process's lanes are left out.
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
  }

  deinit {
    weir_reader_close(reader)
  }

  /// Whether a process has the log open for capture now.
  public var isLive: Bool { weir_reader_is_live(reader) != 0 }

  /// The next event, or nil if there is none at present.
  public func next() throws(WeirError) -> StoredEvent? {
    var event = weir_event()
    var skip = weir_skip()
    while true {
      var error = weir_error()
      let status = weir_reader_next(reader, &event, &skip, &error)
      switch Int(status) {
      case WEIR_OK: return stored(event)
      case WEIR_END: return nil
      case WEIR_SKIPPED: report(skip)
      default: throw WeirError(status, error)
      }
    }
  }

  /// Waits until there may be more than ``next()`` gave, which is then to be called and may still answer nil; at most
  /// that long (nil: for ever; zero: just looks). False if the time passed.
  ///
  /// Blocks the thread: tasks follow a log with ``LogDirectory/follow(from:onSkip:)``. Looks for what is new at once
  /// after an event was read, then at intervals that double from 0.2 to 20 ms, five system calls each.
  public func wait(upTo timeout: Duration?) -> Bool {
    var nanoseconds = UInt64.max
    if let (seconds, attoseconds) = timeout?.components {
      let whole = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
      let sum = whole.partialValue.addingReportingOverflow(UInt64(clamping: attoseconds / 1_000_000_000))
      nanoseconds = whole.overflow || sum.overflow ? .max : sum.partialValue
    }
    return Int(weir_reader_wait(reader, nanoseconds)) == WEIR_OK
  }

  private func report(_ core: weir_skip) {
    let skip = Skip(
      firstOffset: core.first_offset, count: core.count, file: text(ofCArray: core.file), position: core.position,
      bytes: core.bytes, reason: core.reason.map { String(cString: $0) } ?? "", isRemoval: core.removed != 0)
    skippedCount += 1
    if skipped.count < Self.maximumSkipped { skipped.append(skip) }
    onSkip?(skip)
  }

  /// The event, copied out of the reader's memory.
  private func stored(_ event: weir_event) -> StoredEvent {
    let definition = definition(of: event)
    let payload = UnsafeRawBufferPointer(start: event.payload, count: Int(event.payload_bytes))
    lastBytes = Int(event.payload_bytes) + Int(event.scope_bytes)
    // A dynamic event has its own name, which the core has taken off its payload already.
    let name = event.type == LogHandle.dynamicType ? StoredDefinition.name(of: event) : definition.name
    // The bytes are vouched for by checksums; where they don't fit the definition, they are given as they are.
    let fields =
      (try? definition.fields(of: payload)) ?? ["payload": .bytes(Array(payload))]
    return StoredEvent(
      offset: event.offset, id: EventID(opening: event.id.opening, sequence: event.id.sequence),
      time: Timestamp(nanosecondsSince1970: event.time_ns), name: name, fields: fields,
      declaration: definition.declaration, context: contexts.context(of: event),
      monotonicNanoseconds: event.monotonic_ns == .min ? nil : event.monotonic_ns, bootID: bootID(event.boot_id))
  }

  /// Nil for all zeros: it is not known.
  private func bootID(_ bytes: uuid_t) -> UUID? {
    let id = UUID(uuid: bytes)
    return id == Self.noBoot ? nil : id
  }

  private static let noBoot = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

  /// The event's definition, parsed once. The cache is emptied when it grows large, which only a log with thousands of
  /// openings makes it do.
  private func definition(of event: weir_event) -> StoredDefinition {
    if let known = definitions[event.definition] { return known }
    let definition = StoredDefinition(event)
    if definitions.count >= 4096 { definitions.removeAll() }
    definitions[event.definition] = definition
    return definition
  }
}

extension EventReader {
  /// The event with this identity, passing over those before it without decoding them; nil if it does not come.
  package func next(where id: EventID) throws(WeirError) -> StoredEvent? {
    var event = weir_event()
    var skip = weir_skip()
    while true {
      var error = weir_error()
      let status = weir_reader_next(reader, &event, &skip, &error)
      switch Int(status) {
      case WEIR_OK:
        if event.id.sequence == id.sequence, event.id.opening == id.opening { return stored(event) }
      case WEIR_END: return nil
      case WEIR_SKIPPED: report(skip)
      default: throw WeirError(status, error)
      }
    }
  }
}

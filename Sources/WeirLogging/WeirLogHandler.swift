// WeirLogHandler: the log handler that captures each line as an event.

public import Logging
public import Weir

/// A back end of swift-log that captures each line as an event. The line survives `kill -9`.
///
/// ```swift
/// let tracker = try Tracker(directory: "/var/lib/shop/events")
/// LoggingSystem.bootstrap { WeirLogHandler(label: $0, tracker: tracker) }
///
/// let logger = Logger(label: "shop")
/// logger.info("paid", metadata: ["order": "\(order)", "items": .stringConvertible(items)])
/// ```
///
/// **The event** has the name `log.line`, the bindings of the place that logs, and these fields:
///
/// | field | what it has |
/// |---|---|
/// | `level`, `label`, `message` | text |
/// | one field for each key of the metadata | see below |
/// | `source`, `file`, `function`, `line` | where the line was logged; `line` is an integer, the others are text |
/// | `error.message`, `error.type` | only if an error was given: the error's description, and the name of its type |
/// | `truncated` | only if the line was too large: how many bytes of text are missing |
///
/// **Metadata.** A key given with the line counts, then one of the metadata provider, then one of the logger. A string
/// is stored as text. A value given as `.stringConvertible` keeps its type if it is a Boolean, an integer, a `Float`, a
/// `Double`, a `UUID` or a `Date`; any other is stored as its description. Dictionaries are stored as objects, arrays
/// as arrays. A key that has the name of a field above, such as `line`, gets the prefix `metadata.`.
///
/// **Sensitive values** are stored, and marked in the event's declaration: see ``Sensitivity``. A log has room for
/// thousands of types of events, and each set of sensitive keys is one. If a log has 2,048 types, or the keys of a set
/// take more than 1,000 bytes, sensitive values are replaced with `[redacted]` at the capture.
///
/// **Large lines.** If a line is larger than ``/Weir/Tracker/Configuration/maximumEventBytes``, its longest texts are
/// cut until the line fits. Each cut text ends with `…`, and the field `truncated` says how many bytes are missing. If
/// the metadata has too many keys for that, the line has none of them.
///
/// **Refused lines.** A line that is refused, for instance because the log is closed, is counted by
/// ``/Weir/Tracker/counters``, as every capture is. Nothing is written elsewhere.
///
/// **Lines of Weir itself,** whose loggers have the label `weir` or a label that begins with `weir.`, go to standard
/// error. Such lines tell that events are refused, or are not delivered, and an event for each would cause the next.
/// On standard error, sensitive values are redacted. To send these lines elsewhere, give `bootstrap` another handler for
/// their labels.
///
/// **Threads.** A value type, as swift-log requires: a copy has its own level and metadata, and the same tracker. Any
/// thread may log. A line does not wait, lock or call the system, except for what ``/Weir/Tracker/track(_:)`` says.
///
/// **Cost.** See <doc:WeirLogging>. The handler allocates only for lines of more than 1,024 bytes, with an error, with
/// sensitive values, with values that are stored as their description, and if both the logger and a provider have
/// metadata.
///
/// **Crash.** A line that was logged survives the death of the process. After ``/Weir/Tracker/sync(timeout:)`` the line
/// also survives a power cut.
///
/// **End.** The handlers retain the tracker, and swift-log keeps its handlers. Call ``/Weir/Tracker/close()`` when the
/// program ends; without it, the next opening recovers the lines.
public struct WeirLogHandler: LogHandler {
  /// The least severe level that is captured. Default `info`.
  public var logLevel = Logger.Level.info

  /// The metadata of each line, which the metadata of the provider and of the line replace.
  public var metadata: Logger.Metadata = [:]

  /// Adds metadata to each line. Called on the thread that logs, before the capture begins. Must not log itself.
  public var metadataProvider: Logger.MetadataProvider?

  private let label: String
  private let tracker: Tracker
  private let isSensitive: @Sendable (Logger.MetadataValueAttributes) -> Bool

  /// Whether the lines are those of Weir itself.
  private let isOwn: Bool

  /// Creates a handler. Never fails, and takes no resources.
  ///
  /// - Parameters:
  ///   - label: The logger's label.
  ///   - tracker: The log that takes the lines. Retained.
  ///   - metadataProvider: Adds metadata to each line. Default: that of `LoggingSystem.bootstrap`.
  ///   - isSensitive: Whether a value with these attributes is sensitive. Called only for values that have attributes.
  ///     Default: by ``Sensitivity``.
  public init(
    label: String, tracker: Tracker, metadataProvider: Logger.MetadataProvider? = LoggingSystem.metadataProvider,
    isSensitive: @escaping @Sendable (Logger.MetadataValueAttributes) -> Bool = { $0[Sensitivity.self] == .sensitive }
  ) {
    self.label = label
    self.tracker = tracker
    self.metadataProvider = metadataProvider
    self.isSensitive = isSensitive
    isOwn = label == "weir" || label.hasPrefix("weir.")
  }

  public subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// Captures a line. Called by `Logger`.
  public func log(event: LogEvent) {
    guard !isOwn else { return writeToStandardError(event) }
    guard let metadataProvider else { return capture(event, inheriting: metadata) }
    capture(
      event, inheriting: metadata.isEmpty ? metadataProvider.get() : metadata.merging(metadataProvider.get()) { $1 })
  }

  /// The most bytes of a line that is encoded on the stack. Swift takes larger memory from the heap. Not stored, because
  /// Swift has to know it when it compiles.
  @inline(__always)
  private static var stackBytes: Int { 1024 }

  /// More bytes than any event has.
  private static var mostBytes: Int { 2 << 20 }

  /// Captures a line that needs no change, as most lines do.
  @inline(__always)
  private func capture(_ event: LogEvent, inheriting inherited: Logger.Metadata) {
    let isDone = withUnsafeTemporaryAllocation(byteCount: Self.stackBytes, alignment: 8) { memory in
      guard event.error == nil, var writer = LineWriter(memory) else { return false }
      guard writer.put(event, label: label, given: event.metadata ?? [:], inherited: inherited) else { return false }
      guard !writer.isFull else { return false }
      return capture(writer.finish(), number: 0) == nil
    }
    if !isDone { captureChanged(event, inherited) }
  }

  /// Captures an encoded line. If the line is too large, which `nil` always is, captures nothing and returns the room
  /// for a line. Returns `nil` if the line was captured or refused.
  @inline(__always)
  private func capture(_ fields: UnsafeRawBufferPointer?, number: UInt32) -> Int? {
    var room = -1
    withUnsafeMutablePointer(to: &room) { _ = tracker.track(LogLine(fields, number: number, room: $0)) }
    return room < 0 ? nil : room
  }

  /// Captures a line whose metadata can't be stored as it is, or that is large.
  @inline(never)
  private func captureChanged(_ event: LogEvent, _ inherited: Logger.Metadata) {
    var form = MetadataForm(isSensitive)
    form.add(inherited.merging(event.metadata ?? [:]) { $1 }, event.error)
    var number: UInt32 = 0
    if let sensitive = form.sensitive {
      number = LogLine.number(sensitive: sensitive, in: tracker) ?? 0
      if number == 0 { form.redact() }
    }
    var room: Int?
    var bytes = Self.stackBytes
    var isEncoded = false
    while !isEncoded, bytes < Self.mostBytes {
      bytes *= 2
      isEncoded = withUnsafeTemporaryAllocation(byteCount: bytes, alignment: 8) { memory in
        guard var writer = LineWriter(memory) else { return false }
        _ = writer.put(event, label: label, given: form.metadata, inherited: [:])
        guard !writer.isFull else { return false }
        room = capture(writer.finish(), number: number)
        return true
      }
    }
    if !isEncoded { room = capture(nil, number: number) }
    guard let room else { return }
    withUnsafeTemporaryAllocation(byteCount: room, alignment: 8) { memory in
      let line = TruncatedLine(label: label, event: event, metadata: form.metadata)
      // A line that does not fit at all is refused, and counted.
      tracker.track(LogLine(line.encode(into: memory), number: number, room: nil))
    }
  }

  @inline(never)
  private func writeToStandardError(_ event: LogEvent) {
    var form = MetadataForm(isSensitive)
    let inherited = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }
    form.add(inherited.merging(event.metadata ?? [:]) { $1 }, event.error)
    form.redact()
    var shown = event
    shown.metadata = form.metadata
    shown.error = nil
    StreamLogHandler.standardError(label: label, metadataProvider: nil).log(event: shown)
  }
}

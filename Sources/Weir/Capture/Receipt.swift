// Receipt, BulkReceipt and DropReason: what a capture returns.

/// The result of ``Tracker/track(_:)``.
public enum Receipt: Hashable, Sendable {
  /// The event is captured. From here on the event survives the death of the process. The one exception is
  /// ``Tracker/OverflowPolicy/dropOldest``, under which a later event of the same lane may overwrite the event before
  /// it reaches the log.
  case accepted(EventID)

  /// The event is not captured. The refusal is counted in the log and becomes a `weir.gap` event. After the log was
  /// closed, and in a forked process, the refusal is counted in memory only.
  case dropped(DropReason)

  /// The event's id, or `nil` if the event was dropped.
  public var id: EventID? {
    guard case .accepted(let id) = self else { return nil }
    return id
  }

  /// Whether the event was accepted.
  public var isAccepted: Bool {
    guard case .accepted = self else { return false }
    return true
  }

  /// The receipt for a drop code of the core.
  @usableFromInline
  static func refused(_ code: Int32) -> Receipt {
    .dropped(DropReason(code: code))
  }
}

/// The result of ``Tracker/track(contentsOf:)``.
public struct BulkReceipt: Hashable, Sendable {
  /// The number of accepted events.
  public var accepted = 0

  /// The number of dropped events, by reason. Reasons that did not occur are absent.
  public var dropped: [DropReason: Int] = [:]

  /// Creates a receipt with the given counts, by default none.
  public init(accepted: Int = 0, dropped: [DropReason: Int] = [:]) {
    self.accepted = accepted
    self.dropped = dropped
  }

  /// Counts one event.
  @inlinable
  mutating func add(_ receipt: Receipt) {
    switch receipt {
    case .accepted: accepted += 1
    case .dropped(let reason): dropped[reason, default: 0] += 1
    }
  }
}

/// Why an event was not captured, or was lost after its capture. The raw values are the numbers stored in the log.
public enum DropReason: Int32, CaseIterable, Hashable, Sendable {
  /// The thread's lane was full, and stayed full for as long as the overflow policy allows a capture to wait.
  case full = 1
  /// All lanes were taken, including the spare lanes.
  case noLane = 2
  /// The event is larger than ``Tracker/Configuration/maximumEventBytes``.
  case tooLarge = 3
  /// The tracker is closed.
  case closed = 4
  /// This process was forked from the process that opened the log.
  case detached = 5
  /// The lane is full and the log can't grow: the disk is full or reports errors, or
  /// ``Tracker/Configuration/byteLimit`` is reached.
  case storage = 6
  /// The event does not match its declaration, or the declaration was refused. See ``Tracker/lastDefinitionError``.
  case invalid = 7
  /// A later event overwrote the accepted event before it reached the log, by ``Tracker/OverflowPolicy/dropOldest``.
  /// Only in the statistics of a log, never in a receipt.
  case overwritten = 8
  /// ``Tracker/Configuration/retention`` removed the event from the log before the event was delivered. Only in the
  /// statistics of a log, never in a receipt.
  case expired = 9
  /// The event was removed before it was delivered, to make room at ``Tracker/Configuration/byteLimit``. Only in the
  /// statistics of a log, never in a receipt.
  case displaced = 10
  /// ``Tracker/Configuration/sampling`` left the event out.
  case sampled = 11

  /// The reason for a drop code of the core.
  @usableFromInline
  init(code: Int32) {
    // A test compares the cases with the core's codes. An unknown code must not trap in a capture.
    self = DropReason(rawValue: code) ?? .invalid
  }
}

extension DropReason: CustomStringConvertible {
  public var description: String { name }
}

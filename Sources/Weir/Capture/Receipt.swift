// Receipt, BulkReceipt and DropReason: what a capture answers.

/// What became of an event that was given to ``Tracker/track(_:)``.
public enum Receipt: Hashable, Sendable {
  /// The event is captured. It survives the death of the process from here on, unless it was told to make room: under
  /// ``Tracker/OverflowPolicy/dropOldest`` a later event of its lane may overwrite it before it is in the log.
  case accepted(EventID)

  /// The event is not captured. The refusal is counted in the log, and becomes a `weir.gap` event; after
  /// the log was closed, and in a forked process, there is only the count in memory.
  case dropped(DropReason)

  /// The event's identity, if it was accepted.
  public var id: EventID? {
    guard case .accepted(let id) = self else { return nil }
    return id
  }

  /// Whether the event was accepted.
  public var isAccepted: Bool {
    guard case .accepted = self else { return false }
    return true
  }

  /// The receipt for an answer of the core other than accepted.
  @usableFromInline
  static func refused(_ code: Int32) -> Receipt {
    .dropped(DropReason(code: code))
  }
}

/// What became of the events that were given to ``Tracker/track(contentsOf:)``.
public struct BulkReceipt: Hashable, Sendable {
  /// How many were accepted.
  public var accepted = 0

  /// How many were dropped, for each reason that occurred.
  public var dropped: [DropReason: Int] = [:]

  /// Counts so many events; none unless told.
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

/// Why an event was not captured, or is lost. The numbers are those in the log.
public enum DropReason: Int32, CaseIterable, Hashable, Sendable {
  /// The thread's lane was full, for as long as the overflow policy said to wait.
  case full = 1
  /// All lanes were taken, the spare ones too.
  case noLane = 2
  /// The event is larger than ``Tracker/Configuration/maximumEventBytes``.
  case tooLarge = 3
  /// The tracker is closed.
  case closed = 4
  /// This process is a fork of the one that opened the log.
  case detached = 5
  /// The lane is full and the log can't grow: the disk is full, or reports errors, or
  /// ``Tracker/Configuration/byteLimit`` is reached.
  case storage = 6
  /// The event does not agree with its declaration, or the declaration could not be made. See
  /// ``Tracker/lastDefinitionError``.
  case invalid = 7
  /// No receipt says this: the event was accepted, and a later one overwrote it before it was in the log, by the
  /// policy ``Tracker/OverflowPolicy/dropOldest``. In the statistics of a log.
  case overwritten = 8
  /// No receipt says this: the event was in the log, and ``Tracker/Configuration/retention`` removed it before it was
  /// delivered. In the statistics of a log.
  case expired = 9
  /// The same, removed to make room at ``Tracker/Configuration/byteLimit``.
  case displaced = 10
  /// Left out on purpose, by ``Tracker/Configuration/sampling``.
  case sampled = 11

  /// The reason for a number of the core.
  @usableFromInline
  init(code: Int32) {
    // All of the core's reasons are listed, which a test holds against it; a refusal must never trap.
    self = DropReason(rawValue: code) ?? .invalid
  }
}

extension DropReason: CustomStringConvertible {
  public var description: String { name }
}

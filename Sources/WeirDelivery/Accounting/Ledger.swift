// Ledger: for each provider, what became of every event that was accepted.

public import Weir

/// What became of every event that captures accepted since a provider began, by provider:
/// `accepted = acknowledged + rejected + pending + lost`, across restarts.
///
/// Each number is counted where it arises. The log counts ``Entry/accepted``; the cursor, in one slot on the disk,
/// counts the settled events; ``Entry/pending`` is counted in segments and lanes. No number is the difference of
/// others, so the equation is a check. While captures go on, the numbers are of slightly different moments.
public struct Ledger: Hashable, Sendable {
  /// Why a provider will not get an accepted event.
  public enum LossReason: String, Hashable, Sendable, CaseIterable, Codable {
    /// Retention or the byte limit removed the event before delivery.
    case removed
    /// The event can't be read: its bytes in the log or the lane are damaged, or a power cut took them.
    case damaged
    /// The provider's mapper withheld the event.
    case withheld
    /// A later event overwrote the event in its lane (`Tracker.OverflowPolicy.dropOldest`).
    case overwritten
  }

  /// What one provider is doing.
  public enum ProviderState: Hashable, Sendable {
    /// ``Provider/setup()`` has not succeeded yet.
    case starting
    /// Events are delivered, or waited for.
    case running
    /// The last try failed. The next try comes after the back-off.
    case backingOff
    /// The circuit breaker is open: delivery leaves the provider alone for a while.
    case open
    /// The provider threw ``DeliveryStopped``. Delivery tries again from time to time. For a provider that is known by
    /// its files only, the last call ended in this way.
    case stopped(reason: String)
    /// Nothing is delivered: the dispatcher has ended, or the provider is known by its files only.
    case idle
  }

  /// The numbers of one provider.
  public struct Entry: Hashable, Sendable {
    /// The provider's name.
    public var provider: String
    /// What the provider is doing.
    public var state: ProviderState
    /// Where it began.
    package var from: Offset
    /// The cursor on the disk: every event below this offset is settled.
    public var offset: Offset
    /// The events that captures accepted since the provider began.
    public var accepted: UInt64
    /// Of these, the events that the provider accepted, also in a redrive.
    public var acknowledged: UInt64
    /// Of these, the events that the provider rejected and has not accepted in a redrive; they are in the dead-letter
    /// log. After a kill during a redrive the number may be too large until the letters are redriven.
    public var rejected: UInt64
    /// Of these, the events that are not settled yet.
    public var pending: UInt64
    /// Of these, the events that the provider will not get, by reason.
    public var lost: [LossReason: UInt64]
    /// The last error; `nil` if there was none since the last success.
    public var error: String?

    /// All that it will not get.
    package var lostInAll: UInt64 { lost.values.reduce(0, &+) }

    /// Whether every accepted event is accounted for.
    ///
    /// Numbers of a cursor that somebody made up may add up to more than there are: they wrap, and do not trap.
    public var isBalanced: Bool { accepted == acknowledged &+ rejected &+ pending &+ lostInAll }

    /// An entry with nothing in it.
    package init(provider: String) {
      self.provider = provider
      state = .idle
      from = 0
      offset = 0
      accepted = 0
      acknowledged = 0
      rejected = 0
      pending = 0
      lost = [:]
    }
  }

  /// The entries, in order of the providers' names.
  public var entries: [Entry]

  /// A ledger of these.
  package init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// The entry of the provider with this name.
  public subscript(provider: String) -> Entry? { entries.first { $0.provider == provider } }

  /// Whether every entry is balanced.
  public var isBalanced: Bool { entries.allSatisfy(\.isBalanced) }
}

/// What a flush, or the end of ``Dispatcher/run(budget:)``, delivered.
public struct DeliveryReport: Hashable, Sendable {
  /// The part of one provider.
  public struct Entry: Hashable, Sendable {
    /// The provider's name.
    public var provider: String
    /// Events that the provider accepted during the call.
    public var acknowledged: UInt64
    /// Events that the provider rejected during the call.
    public var rejected: UInt64
    /// Events captured before the call that are not settled.
    public var pending: UInt64
    /// What the provider was doing at the end.
    public var state: Ledger.ProviderState
    /// Why events are pending, if known.
    public var error: String?
    /// Events that turned out during the call to be lost to the provider, by reason.
    public var lost: [Ledger.LossReason: UInt64]

    /// An entry.
    package init(
      provider: String, acknowledged: UInt64, rejected: UInt64, pending: UInt64, state: Ledger.ProviderState,
      error: String? = nil, lost: [Ledger.LossReason: UInt64] = [:]
    ) {
      self.provider = provider
      self.acknowledged = acknowledged
      self.rejected = rejected
      self.pending = pending
      self.state = state
      self.error = error
      self.lost = lost
    }
  }

  /// The entries, in order of the providers' names.
  public var entries: [Entry]

  /// A report of these.
  package init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// Whether nothing is pending.
  public var isComplete: Bool { entries.allSatisfy { $0.pending == 0 } }
}

// Ledger: the outcome of every accepted event, for each provider.

public import Weir

/// The outcome of every event accepted since a provider started, for each provider. `accepted = acknowledged + rejected
/// + pending + lost`, across restarts.
///
/// After a rewind of a provider, the provider counts as started at the place to which it was set back: every number is
/// about the events from there on, and ``Entry/rewind`` says that events are delivered again.
///
/// Each number is counted where it arises. The log counts ``Entry/accepted``. The settled events are counted with the
/// cursor, in one slot on disk. ``Entry/pending`` is counted from segments and lanes. No number is computed by
/// subtraction, so the sum is a real check. During captures, the numbers are from slightly different moments.
public struct Ledger: Hashable, Sendable {
  /// A reason why a provider will not get an accepted event.
  public enum LossReason: String, Hashable, Sendable, CaseIterable, Codable {
    /// Retention or the byte limit removed the event before it was delivered.
    case removed
    /// The event can't be read from the log or from its lane, because of damage or a power cut.
    case damaged
    /// The provider's mapper withheld the event, because it is not for this provider.
    case withheld
    /// A later event overwrote the event before it reached the log (`Tracker.OverflowPolicy.dropOldest`).
    case overwritten
  }

  /// The state of one provider.
  public enum ProviderState: Hashable, Sendable {
    /// The provider is not set up yet.
    case starting
    /// The provider delivers or waits for events.
    case running
    /// The last try failed; the next try waits for the back-off.
    case backingOff
    /// The provider's circuit breaker is open: the provider is not called for a while.
    case open
    /// The provider stopped delivery with ``DeliveryStopped`` until somebody fixes the problem, and is tried again from
    /// time to time. If the provider is known only from its files, its last call ended in this way.
    case stopped(reason: String)
    /// Nothing delivers to the provider: the dispatcher has shut down, or the provider is known only from its files.
    case idle
  }

  /// The numbers of one provider.
  public struct Entry: Hashable, Sendable {
    /// The provider's name.
    public var provider: String
    /// The provider's state.
    public var state: ProviderState
    /// The offset at which the provider started.
    package var from: Offset
    /// All events below this offset are settled, on disk.
    public var offset: Offset
    /// The number of events that captures accepted since the provider started.
    public var accepted: UInt64
    /// The number of accepted events that the provider has stored permanently, including events that it accepted in a
    /// redrive.
    public var acknowledged: UInt64
    /// The number of accepted events that the provider rejected, and has not accepted in a redrive since. These events
    /// are in the dead-letter log. After a kill during a redrive, or of a redrive, the number may be too high until the
    /// letters are redriven.
    public var rejected: UInt64
    /// The number of accepted events that are not settled yet.
    public var pending: UInt64
    /// The time at which the oldest pending event was captured: the provider's delivery lags by the time since then.
    /// `nil` if no event is pending, or if all pending events are still in the lanes of a live process.
    public var pendingSince: Timestamp?
    /// The numbers of accepted events that the provider will not get, by reason.
    public var lost: [LossReason: UInt64]
    /// The last rewind of the provider, or `nil` if there was none.
    public var rewind: Rewind?
    /// The last error, or `nil` if there was none since the last success.
    public var error: String?

    /// What the destination said last that its acknowledgements promise, in words, such as `written by 2 of 3 servers`;
    /// `nil` for a destination that does not say it. Brokers do.
    public var durability: String?

    /// The number of all events that the provider will not get.
    package var lostInAll: UInt64 { lost.values.reduce(0, &+) }

    /// Whether every accepted event is accounted for.
    ///
    /// The sums wrap on overflow and don't trap, because a forged cursor may contain any numbers.
    public var isBalanced: Bool { accepted == acknowledged &+ rejected &+ pending &+ lostInAll }

    /// Creates an entry whose numbers are 0.
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

  /// The entries, ordered by the providers' names.
  public var entries: [Entry]

  /// Creates a ledger with these entries.
  package init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// The entry of the provider with this name, or `nil`.
  public subscript(provider: String) -> Entry? { entries.first { $0.provider == provider } }

  /// Whether every entry is balanced.
  public var isBalanced: Bool { entries.allSatisfy(\.isBalanced) }
}

/// The result of a flush or of a shutdown.
public struct DeliveryReport: Hashable, Sendable {
  /// The result for one provider.
  public struct Entry: Hashable, Sendable {
    /// The provider's name.
    public var provider: String
    /// The number of events that the provider accepted during the call.
    public var acknowledged: UInt64
    /// The number of events that the provider rejected during the call.
    public var rejected: UInt64
    /// The number of events captured before the call that are not settled.
    public var pending: UInt64
    /// The provider's state at the end.
    public var state: Ledger.ProviderState
    /// The reason why events are pending, if it is known.
    public var error: String?
    /// The numbers of events passed over during the call that the provider will not get, by reason.
    public var lost: [Ledger.LossReason: UInt64]
    /// Whether the pending events are in a segment that another process fills.
    package var waitsForWriter = false

    /// Creates an entry.
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

  /// The entries, ordered by the providers' names.
  public var entries: [Entry]

  /// Creates a report with these entries.
  package init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// Whether nothing is pending.
  public var isComplete: Bool { entries.allSatisfy { $0.pending == 0 } }
}

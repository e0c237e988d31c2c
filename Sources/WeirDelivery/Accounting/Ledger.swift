// Ledger: for each provider, what became of every event that was accepted.

public import Weir

/// For each provider, what became of every event that was accepted since it began:
/// `accepted = acknowledged + rejected + pending + lost`, across restarts.
///
/// Each number is counted where it arises: ``Entry/accepted`` by the log, what was settled with the cursor, in one slot
/// on the disk, and ``Entry/pending`` from segments and lanes. None is found by subtraction, so the sum says something.
/// While captures go on they are of moments a little apart.
public struct Ledger: Hashable, Sendable {
  /// Why a provider will not get an event that was accepted.
  public enum LossReason: String, Hashable, Sendable, CaseIterable, Codable {
    /// Retention or the byte limit removed it before it was delivered.
    case removed
    /// It can't be read: damage, or a power cut took it, from the log or from its lane.
    case damaged
    /// It was not for this provider: the provider's mapper withheld it.
    case withheld
    /// A later event took its place before it was in the log (`Tracker.OverflowPolicy.dropOldest`).
    case overwritten
  }

  /// What one provider is doing.
  public enum ProviderState: Hashable, Sendable {
    /// It is not set up yet.
    case starting
    /// It delivers, or waits for events.
    case running
    /// The last try failed; the next one comes after the back-off.
    case backingOff
    /// Its circuit breaker is open: it is left alone for a while.
    case open
    /// It said that somebody must mend something first, ``DeliveryStopped``, and is tried again now and then. Of a
    /// provider that is known by its files only: that is how its last call ended.
    case stopped(reason: String)
    /// It is not delivered to: the dispatcher shut down, or it is known by its files only.
    case idle
  }

  /// One provider's.
  public struct Entry: Hashable, Sendable {
    /// The provider's name.
    public var provider: String
    /// What it is doing.
    public var state: ProviderState
    /// Where it began.
    package var from: Offset
    /// Everything below it is settled, on the disk.
    public var offset: Offset
    /// Events that captures accepted since it began.
    public var accepted: UInt64
    /// Of them, those that the provider has for good, those that it accepted in a redrive among them.
    public var acknowledged: UInt64
    /// Of them, those that it rejected, and has not accepted in a redrive since; they are in the dead-letter log. After
    /// a kill in a redrive, or of one, it may be some more than there are, until the letters are redriven.
    public var rejected: UInt64
    /// Of them, those that are yet to be settled.
    public var pending: UInt64
    /// Of them, those that it will not get, by reason.
    public var lost: [LossReason: UInt64]
    /// What last went wrong; nil if nothing did since the last success.
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

  /// In the order of their names.
  public var entries: [Entry]

  /// A ledger of these.
  package init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// The entry of the provider named so.
  public subscript(provider: String) -> Entry? { entries.first { $0.provider == provider } }

  /// Whether every entry is balanced.
  public var isBalanced: Bool { entries.allSatisfy(\.isBalanced) }
}

/// What a flush, or a shutdown, came to.
public struct DeliveryReport: Hashable, Sendable {
  /// One provider's part.
  public struct Entry: Hashable, Sendable {
    /// The provider's name.
    public var provider: String
    /// Events it has for good, of those settled during the call.
    public var acknowledged: UInt64
    /// Events it will never take, of those settled during the call.
    public var rejected: UInt64
    /// Events captured before the call that are not settled.
    public var pending: UInt64
    /// What it was doing at the end.
    public var state: Ledger.ProviderState
    /// Why something is pending, if it is known.
    public var error: String?
    /// Events that it will not get, by reason, of those that were passed over during the call.
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

  /// In the order of their names.
  public var entries: [Entry]

  /// A report of these.
  package init(_ entries: [Entry]) {
    self.entries = entries
  }

  /// Whether nothing is pending.
  public var isComplete: Bool { entries.allSatisfy { $0.pending == 0 } }
}

// PreparedEvent.Counts: the counts of prepared events. Everything that is withheld, replaced or skipped is counted
// here.

extension PreparedEvent {
  /// The counts of the events prepared for one provider: see ``Dispatcher/preparationCounts(of:)``.
  public struct Counts: Hashable, Sendable {
    /// Events that were prepared for the provider.
    public internal(set) var prepared: UInt64 = 0

    /// Events that were skipped because they are not the program's: notices, and the log's own events about changes of
    /// the default user.
    public internal(set) var passed: UInt64 = 0

    /// Events that the mapper withheld.
    public internal(set) var withheld: UInt64 = 0

    /// Events whose derived fields could not be computed, by the name of the type that the fields derive from: reading
    /// the event or deriving the fields threw. These events continue without the derived fields.
    public internal(set) var underived: [String: UInt64] = [:]

    /// Derived fields that were left out because the event already had a field of that name, or because such a field
    /// was derived before. By the name of the type that the fields derive from.
    public internal(set) var collisions: [String: UInt64] = [:]

    /// Events in which defaults of the contract were filled in.
    public internal(set) var defaulted: UInt64 = 0

    /// Events that violate the contract.
    public internal(set) var violating: UInt64 = 0

    /// Fields that were left out because the contract does not name them: see ``DeliveryOptions/omitsUnknownFields``.
    public internal(set) var omitted: UInt64 = 0

    /// Events flagged as duplicates. These events are delivered too.
    public internal(set) var duplicates: UInt64 = 0

    /// Events that the window of duplicates forgot while a duplicate could still have come. If this grows, raise
    /// ``DeliveryOptions/duplicateMemory``.
    public internal(set) var forgotten: UInt64 = 0

    /// Fields that got a number because another field had the same name after mapping: see ``EventMapper``.
    public internal(set) var renamed: UInt64 = 0

    /// Names and values that the mapper cut.
    public internal(set) var truncated: UInt64 = 0
  }
}

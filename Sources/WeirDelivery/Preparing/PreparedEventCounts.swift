// PreparedEvent.Counts: what happened to the events that were prepared. Whatever is withheld, replaced or passed over
// is in here.

extension PreparedEvent {
  /// What became of the events that were prepared for one provider: see ``Dispatcher/preparationCounts(of:)``.
  public struct Counts: Hashable, Sendable {
    /// Events that came out, for the provider to have.
    public internal(set) var prepared: UInt64 = 0

    /// What is no event of the program, and does not come out: notices, and the log's own events of a user who is
    /// associated or disassociated.
    public internal(set) var passed: UInt64 = 0

    /// Events that the mapper withheld: they are not for the provider.
    public internal(set) var withheld: UInt64 = 0

    /// Events whose derived fields could not be computed, by the name of the type they derive from: reading the event
    /// or deriving threw. They went on without.
    public internal(set) var underived: [String: UInt64] = [:]

    /// Derived fields that were left out because the event had one of the name, or one was derived before, by the name
    /// of the type they derive from.
    public internal(set) var collisions: [String: UInt64] = [:]

    /// Events into which defaults of the contract were filled.
    public internal(set) var defaulted: UInt64 = 0

    /// Events that are against the contract.
    public internal(set) var violating: UInt64 = 0

    /// Events flagged as duplicates. They came out all the same.
    public internal(set) var duplicates: UInt64 = 0

    /// Events that the duplicates' window had to forget while a duplicate might still have come: raise
    /// ``DeliveryOptions/duplicateMemory`` if this grows.
    public internal(set) var forgotten: UInt64 = 0

    /// Fields whose name another one had after mapping, and that got a number: see ``EventMapper``.
    public internal(set) var renamed: UInt64 = 0

    /// Names and values that the mapper cut.
    public internal(set) var truncated: UInt64 = 0
  }
}

// Preparation.Counts: what happened to the events that were prepared. Whatever is dropped, replaced or passed over is
// in here.

import Weir

extension Preparation {
  /// Counts of one preparation, since it was made.
  public struct Counts: Hashable, Sendable {
    /// Events that came out, for the provider to have.
    public internal(set) var prepared: UInt64 = 0

    /// What is no event of the program, and does not come out: notices, and the log's own events of a user who is
    /// associated or disassociated.
    public internal(set) var passed: UInt64 = 0

    /// Events that a hook dropped, by its name.
    public internal(set) var dropped: [String: UInt64] = [:]

    /// Events that the mapper said are not for the provider.
    public internal(set) var filtered: UInt64 = 0

    /// Events whose registry could not derive their fields, by area: reading the event or deriving threw. They went on
    /// without.
    public internal(set) var underived: [String: UInt64] = [:]

    /// Derived fields that were left out because the event, or an earlier registry, had one of the name, by area.
    public internal(set) var collisions: [String: UInt64] = [:]

    /// Events into which defaults of the contract were filled.
    public internal(set) var defaulted: UInt64 = 0

    /// Events that are against the contract.
    public internal(set) var violating: UInt64 = 0

    /// Events flagged as duplicates. They came out all the same.
    public internal(set) var duplicates: UInt64 = 0

    /// Events that the duplicates' window had to forget while a duplicate might still have come: raise
    /// ``DuplicateRule/limit`` if this grows.
    public internal(set) var forgotten: UInt64 = 0

    /// Fields whose name another one had after mapping, and that got a number: see ``EventMapper``.
    public internal(set) var renamed: UInt64 = 0

    /// Names and values that the mapper cut.
    public internal(set) var truncated: UInt64 = 0
  }
}

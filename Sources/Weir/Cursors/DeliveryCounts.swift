// DeliveryCounts: the outcome of the events below a cursor, as stored in the cursor's slot.

/// Where a provider's delivery began, and the outcome of each event since then. Ledgers need nothing else of a cursor.
package struct DeliveryCounts: Hashable, Sendable {
  /// The first offset to deliver.
  package var from: Offset = 0
  /// Events that the log had accepted below ``from``.
  package var baseline: UInt64 = 0
  /// Accepted events that were overwritten before they had an offset, over the log's life, when the delivery began.
  package var overwrittenBaseline: UInt64 = 0
  /// Accepted events that were damaged before they had an offset, over the log's life, when the delivery began.
  package var inHolesBaseline: UInt64 = 0
  /// Events that the provider has acknowledged.
  package var acknowledged: UInt64 = 0
  /// Events that the provider rejected for good. They are in its dead letters.
  package var rejected: UInt64 = 0
  /// Events that retention or the byte limit removed before their delivery.
  package var removed: UInt64 = 0
  /// Events that can't be read.
  package var damaged: UInt64 = 0
  /// Events that a mapper withheld.
  package var withheld: UInt64 = 0
  /// How often the counts began again because the log was not the cursor's log.
  package var restarts: UInt64 = 0
  /// How often the counts began again because somebody rewound the provider.
  package var rewinds: UInt64 = 0
  /// The first offset that was not settled before the last rewind; 0 without a rewind.
  package var rewound: Offset = 0
  /// The first offset that was ever to be delivered, with a rewind; 0 without one.
  package var origin: Offset = 0

  /// Where the provider began, before any rewind.
  package var firstFrom: Offset { rewinds == 0 ? from : min(from, origin) }

  package init(
    from: Offset = 0, baseline: UInt64 = 0, overwrittenBaseline: UInt64 = 0, inHolesBaseline: UInt64 = 0,
    acknowledged: UInt64 = 0, rejected: UInt64 = 0, removed: UInt64 = 0, damaged: UInt64 = 0, withheld: UInt64 = 0,
    restarts: UInt64 = 0
  ) {
    self.from = from
    self.baseline = baseline
    self.overwrittenBaseline = overwrittenBaseline
    self.inHolesBaseline = inHolesBaseline
    self.acknowledged = acknowledged
    self.rejected = rejected
    self.removed = removed
    self.damaged = damaged
    self.withheld = withheld
    self.restarts = restarts
  }
}

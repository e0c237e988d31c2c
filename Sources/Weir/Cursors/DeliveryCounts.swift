// DeliveryCounts: what became of the events below a cursor, as the cursor's slot on the disk has it.

/// Where a provider's delivery began, and what became of each event since. All that a ledger needs of a cursor.
package struct DeliveryCounts: Hashable, Sendable {
  /// Where it began: the first offset that was to be delivered.
  package var from: Offset = 0
  /// Events that the log had accepted below ``from``.
  package var baseline: UInt64 = 0
  /// Events that were accepted and overwritten before they had an offset, over the log's life, when it began.
  package var overwrittenBaseline: UInt64 = 0
  /// The same of those that were damaged before they had an offset.
  package var inHolesBaseline: UInt64 = 0
  /// Events that the provider has for good.
  package var acknowledged: UInt64 = 0
  /// Events that it will never take: they are in its dead letters.
  package var rejected: UInt64 = 0
  /// Events that retention or the byte limit removed before it had them.
  package var removed: UInt64 = 0
  /// Events that can't be read.
  package var damaged: UInt64 = 0
  /// Events that a hook or the mapper kept back.
  package var withheld: UInt64 = 0
  /// How often the counts began anew because the log was another one than the cursor's.
  package var restarts: UInt64 = 0

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

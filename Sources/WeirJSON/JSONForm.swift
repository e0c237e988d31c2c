// JSONForm: the options of writing values as JSON.

import Weir

/// The options of ``JSONText``. `EventJSON` of WeirDelivery documents them for users.
package struct JSONForm: Hashable, Sendable {
  /// Whether integers beyond ±2⁵³ are written as text.
  package var hasLargeIntegersAsText = false

  /// Whether NaN and the infinities are written as `null`.
  package var hasNonFiniteAsNull = false

  /// Whether only the last of several fields with the same name is written.
  package var hasEachNameOnce = false

  /// The exact form, without any of these options.
  package init() {}

  /// The largest integer up to which a double represents every integer exactly.
  package static let exactInDouble: UInt64 = 1 << 53
}

// JSONForm: what of a value's JSON readers may want otherwise.

import Weir

/// The options of ``JSONText``; `EventJSON` of WeirDelivery says to users what they mean.
package struct JSONForm: Hashable, Sendable {
  /// Integers beyond ±2⁵³ are written as text.
  package var hasLargeIntegersAsText = false

  /// Not-a-number and the infinities are written as `null`.
  package var hasNonFiniteAsNull = false

  /// Of several fields with one name the last alone is written.
  package var hasEachNameOnce = false

  /// The exact form.
  package init() {}

  /// The largest integer below which a double holds all of them.
  package static let exactInDouble: UInt64 = 1 << 53
}

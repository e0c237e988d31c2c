// ReconciliationReport: what a reconciliation found.

package import Weir

/// The two sides held against each other.
///
/// Every event of a side has exactly one of the verdicts ``Verdict/identical``, ``Verdict/differing``,
/// ``Verdict/onlyHere`` or ``Verdict/onlyThere``, ``Verdict/duplicateHere`` or ``Verdict/duplicateThere``. A matched
/// event may also be late or out of order.
package struct ReconciliationReport: Hashable, Sendable {
  package enum Verdict: String, Hashable, Sendable, CaseIterable {
    case identical
    case differing
    case onlyHere = "only_here"
    case onlyThere = "only_there"
    case duplicateHere = "duplicate_here"
    case duplicateThere = "duplicate_there"
    case late
    case outOfOrder = "out_of_order"
    /// Of those that are on one side only: nothing says why.
    case unknown
  }

  /// The counts of the events of one name.
  package struct Counts: Hashable, Sendable {
    package var byVerdict: [Verdict: UInt64] = [:]

    package subscript(verdict: Verdict) -> UInt64 {
      get { byVerdict[verdict] ?? 0 }
      set { byVerdict[verdict] = newValue }
    }

    mutating func add(_ other: Counts) { byVerdict.merge(other.byVerdict, uniquingKeysWith: +) }
  }

  /// In how many pairs a field differs in one way.
  package struct FieldCount: Hashable, Sendable {
    package var name: String
    package var path: String
    package var kind: FieldDifference.Kind
    package var count: UInt64
  }

  /// Why events are on one side only.
  package struct ReasonCount: Hashable, Sendable {
    package var verdict: Verdict
    package var reason: String
    package var count: UInt64
  }

  /// One event, or two that differ, as an example. Sensitive values are replaced.
  package struct Sample: Hashable, Sendable {
    package var verdict: Verdict
    package var name: String
    package var reason: String?
    package var here: String?
    package var there: String?
    /// What differs, as lines of text.
    package var differences: [String] = []
  }

  package var all = Counts()
  package var byName: [String: Counts] = [:]
  package var byWay: [MatchWay: UInt64] = [:]
  package var fields: [FieldCount] = []
  package var reasons: [ReasonCount] = []
  package var samples: [Sample] = []
  /// The number of events of each side.
  package var here: UInt64 = 0
  package var there: UInt64 = 0
  /// Lines of the control that can't be read.
  package var unreadable: UInt64 = 0
  /// The offsets that were compared.
  package var offsets: Range<Offset> = 0..<0
  /// The time of the first event that is not identical on both sides.
  package var firstDivergence: Timestamp?
}

// ReconciliationReport: what a reconciliation found.

public import Weir

/// The two sides held against each other.
///
/// Every event of a side has exactly one of the verdicts ``Verdict/identical``, ``Verdict/differing``,
/// ``Verdict/noise``,
/// ``Verdict/onlyHere`` or ``Verdict/onlyThere``, ``Verdict/duplicateHere`` or ``Verdict/duplicateThere``. A matched
/// event may also be late or out of order. An event of the log that the control
/// was given and did not pass on is only here.
public struct ReconciliationReport: Hashable, Sendable {
  /// What became of an event.
  public enum Verdict: String, Hashable, Sendable, CaseIterable {
    case identical
    case differing
    /// The same event, differing in fields alone in which the control differs from a second control as often.
    case noise
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
  public struct Counts: Hashable, Sendable {
    public var byVerdict: [Verdict: UInt64] = [:]

    public subscript(verdict: Verdict) -> UInt64 {
      get { byVerdict[verdict] ?? 0 }
      set { byVerdict[verdict] = newValue }
    }

    mutating func add(_ other: Counts) { byVerdict.merge(other.byVerdict, uniquingKeysWith: +) }
  }

  /// In how many pairs a field differs in one way.
  public struct FieldCount: Hashable, Sendable {
    public var name: String
    public var path: String
    public var kind: FieldDifference.Kind
    public var count: UInt64
    /// How often the control differs from itself in this field, if there is a second control.
    public var noise: ShareDifference?
  }

  /// Why events are on one side only.
  public struct ReasonCount: Hashable, Sendable {
    public var verdict: Verdict
    public var reason: String
    public var count: UInt64
  }

  /// One event, or two that differ, as an example. Sensitive values are replaced.
  public struct Sample: Hashable, Sendable {
    public var verdict: Verdict
    public var name: String
    public var reason: String?
    /// The event here, as JSON; `nil` if there is none.
    public var here: String?
    public var there: String?
    /// The field in which the two differ.
    public var difference: FieldDifference?
  }

  /// The counts of all events.
  public var all = Counts()
  /// The counts by event name. Empty if two copies of a log are the same: then no event was read.
  public var byName: [String: Counts] = [:]
  /// Pairs, by how they were found.
  public var byWay: [MatchWay: UInt64] = [:]
  public var fields: [FieldCount] = []
  public var reasons: [ReasonCount] = []
  public var samples: [Sample] = []
  /// The number of events of each side.
  public var here: UInt64 = 0
  public var there: UInt64 = 0
  /// Lines of the control, or damaged stretches of its log, that can't be read.
  public var unreadable: UInt64 = 0
  /// The offsets that were compared.
  public var offsets: Range<Offset> = 0..<0
  /// The times of the events that were compared, of a running comparison; `nil` for all events.
  public var times: Range<Timestamp>?
  /// The time of the first event that is not identical on both sides.
  public var firstDivergence: Timestamp?
  /// The names of whose events a larger share differs, is a duplicate or is unknown than their band allows.
  public var outside: [String] = []

  package init() {}

  /// Whether all names are within their bands, and all lines of the control were read.
  public var passes: Bool { outside.isEmpty && unreadable == 0 }

  /// The report as text for a terminal. Values are not made safe for a terminal: control characters may be in them.
  public var text: String { ReportText(self, isMarkdown: false).text }
  /// The report as Markdown, for a pull request.
  public var markdown: String { ReportText(self, isMarkdown: true).text }
  /// The report as one JSON object, with the verdicts' counts as keys.
  public var json: String { ReportJSON.text(self) }
}

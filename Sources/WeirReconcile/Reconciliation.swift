// Reconciliation: a log held against a control, with the reason for each difference.

public import Weir
public import WeirDelivery

/// Holds the events of a log against those of a control, event by event.
///
/// ```swift
/// var options = Reconciliation.Options()
/// options.rules.keyFields = ["order"]
/// let reconciliation = try Reconciliation(log: "events", against: "control.jsonl", options: options)
/// print(try reconciliation.run().text)
/// ```
///
/// What the verdicts mean, and how events match, is in the guide Reconciliation.
///
/// **Cost.** Two threads, ``Options/memoryBytes`` at most, and scratch files of about 200 bytes an event.
///
/// **Crash.** A process that is killed leaves its scratch files. The next one that compares the same goes on with them:
/// behind the reading of both sides, if that was done, which is most of the work. It removes the files at the end.
public struct Reconciliation: Sendable {
  /// What is compared, and how.
  public struct Options: Sendable {
    public var rules = ComparisonRules()
    /// The form of the control's lines; `nil` to tell it from each line.
    public var form: ControlForm?
    /// The zone of times in the control that have none, such as `America/Los_Angeles`; `nil` for Universal Time. Of the
    /// form `mixpanel`, all times are in this zone.
    public var zone: String?
    /// What a provider gets of the log's events, if the control is behind that provider.
    public var entry: DeliveryPlan.Entry?
    /// The provider that led to the control, whose accounts say what did not arrive; `nil` for none.
    public var provider: String?
    /// The path of a second control, which got the same events; `nil` for none. A field is then blamed only if it
    /// differs more often than the two controls differ from each other.
    public var again: String?
    /// The field of the log's events with the id that another program gave; `nil` for none.
    public var foreignID: String?
    /// The memory for what is matched at once, in bytes. Default 512 MiB.
    public var memoryBytes = 512 << 20
    /// The directory for scratch files; `nil` for that of the environment variable `TMPDIR`, or `/tmp`.
    public var scratch: String?
    /// Whether the examples show sensitive values.
    public var showsSensitive = false

    var threads = 2

    public init() {}

    /// Throws `invalid` for a zone that does not exist.
    var controlZone: ControlZone? {
      get throws(WeirError) { if let zone { try ControlZone(zone) } else { nil } }
    }
  }

  /// Raised when marks are made in another way: those of an older program are void then.
  private static let marksVersion = 1
  /// Below this many partitions nothing is gained.
  private static let partitions = 16...1_024
  /// Marks are sorted, and a file's text and the events of a part are in memory beside them.
  private static let memoryShare = 8

  let log: LogDirectory
  let options: Options
  let here: LogSource
  /// What the log and its copy have in common.
  let equal: EqualSegments
  let there: ControlSource
  private let again: ControlSource?

  /// Opens both sides.
  ///
  /// The control is a log that a ``Control`` recorded, a copy of the log, or a file: a table if its name ends in
  /// `.csv`, and otherwise JSON Lines.
  ///
  /// Throws `missing` if a side is not there, `unsafe` for what is no plain file, `invalid` for a table without a column for the name or a zone that does
  /// not exist, and what an `EventReader` throws.
  public init(log: String, against control: String, options: Options = Options()) throws(WeirError) {
    let here = try LogSource(log, entry: options.entry, foreignIDPath: options.foreignID)
    let zone = try options.controlZone
    let again: ControlSource? =
      if let path = options.again { try ControlSource(path, form: options.form, zone: zone) } else { nil }
    guard ControlSource.isDirectory(control), try LogSource(control).isCopy(of: here) else {
      self.init(LogDirectory(log), here, try ControlSource(control, form: options.form, zone: zone), again, options)
      return
    }
    // What a plan maps is not equal any more.
    let equal = options.entry == nil ? try EqualSegments(log, control, threads: options.threads) : EqualSegments()
    self.init(
      LogDirectory(log), LogSource(here, without: equal), .log(LogSource(try LogSource(control), without: equal)),
      again, options, equal)
  }

  init(
    _ log: LogDirectory, _ here: LogSource, _ there: ControlSource, _ again: ControlSource?, _ options: Options,
    _ equal: EqualSegments = EqualSegments()
  ) {
    self.log = log
    self.options = options
    self.here = here
    self.equal = equal
    self.there = there
    self.again = again
  }

  /// Compares. `progress` is told what is done now.
  ///
  /// Throws `full` or `io` if scratch files can't be written, `invalid` if ``Options/provider`` is none of the log's,
  /// and what an `EventReader` throws.
  public func run(
    _ progress: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(WeirError) -> ReconciliationReport {
    try run(in: nil, progress).report
  }

  /// A report, and what the next window has to know.
  struct Result: Sendable {
    var report: ReconciliationReport
    var start: ComparisonWindow.Start
    var explained: [Offset: UInt64]
  }

  /// Compares the events of a window, or all.
  func run(
    in window: ComparisonWindow?, _ progress: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(WeirError) -> Result {
    let folder = try ScratchDirectory(in: options.scratch, for: comparison(in: window))
    defer { folder.remove() }
    var noise: Noise?
    if let again {
      let directory = try folder.directory("control", isKept: false)
      let reconciler = reconciler(there, again, there.roughCount, window, in: directory)
      noise = Noise(try reconciler.run { progress("control and control: \($0)") }, reconciler.names)
    }
    let kept = try folder.kept(Kept.self)
    let directory = try folder.directory("log", isKept: kept != nil)
    let reconciler = reconciler(here, there, here.range.count, window, in: directory)
    if let kept {
      reconciler.resume(kept.marks)
      here.resume(kept.findings)
    } else {
      let marks = try reconciler.mark(progress)
      try folder.keep(Kept(marks: marks, findings: here.findings))
    }
    var tally = try reconciler.compare(progress)
    if let times = equal.times { tally.add(timesThere: times) }
    progress("asking for the reasons")
    var maker = ReportMaker(self, noise, window, reconciler, tally)
    let report = try maker.report()
    var start = tally.start(after: window?.start ?? .init())
    start.file = try there.identity()
    return Result(report: report, start: start, explained: maker.explained)
  }

  /// What is kept for another process once both sides are read.
  private struct Kept: Codable {
    var marks: Reconciler<LogSource, ControlSource>.Marks
    var findings: LogSource.Found
  }

  /// A text that only the same comparison has; `nil` if no process can go on with this one.
  private func comparison(in window: ComparisonWindow?) throws(WeirError) -> String? {
    // What a plan does to events has no text, and windows are short.
    guard options.entry == nil, window == nil else { return nil }
    var options = options
    options.scratch = nil
    return "\(Self.marksVersion) \(try here.state()) | \(try there.state()) | \(try again?.state() ?? "") | \(options)"
  }

  private func reconciler<Here: EventSource>(
    _ here: Here, _ there: ControlSource, _ count: Int, _ window: ComparisonWindow?, in directory: Descriptor
  ) -> Reconciler<Here, ControlSource> {
    let marksAtOnce = max(1, options.memoryBytes / (MemoryLayout<EventMark>.stride * Self.memoryShare))
    let partitions = (count + there.roughCount) / marksAtOnce
    return Reconciler(
      here, there, there.rules(self.there.rules(options.rules)), window,
      partitions: min(max(partitions, Self.partitions.lowerBound), Self.partitions.upperBound),
      marksAtOnce: 2 * marksAtOnce, threads: options.threads, in: directory)
  }
}

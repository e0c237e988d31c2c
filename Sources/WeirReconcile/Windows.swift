// Windows: a log that is written, held against a control that is written, window after window.

public import Weir

/// The times of the events that are counted, and how far around them partners are looked for.
struct ComparisonWindow: Sendable {
  var counted: Range<Int64>
  var margin: Int64
  /// The time of the comparison. An event that is far later has a wrong clock, and is not waited for.
  var now = Int64.max
  /// The places at which the sides are read from.
  var start = Start()
  /// What earlier windows put down to each loss, by the offset of its notice.
  var explained: [Offset: UInt64] = [:]

  /// A place on each side.
  struct Start: Sendable {
    var here: UInt64 = 0
    var there: UInt64 = 0
    /// Which file the control was; `nil` before.
    var file: String?
  }

  /// Whether an event is counted in this window: each event is in one window.
  func counts(_ time: Int64) -> Bool { counted.contains(time) }

  /// Whether an event can be the partner of one that is counted.
  func reads(_ time: Int64) -> Bool {
    time >= counted.lowerBound.subtractingClamped(margin) && time < counted.upperBound.addingClamped(margin)
  }

  /// Whether the next window reads an event.
  func isReadAgain(_ time: Int64) -> Bool {
    time >= counted.upperBound.subtractingClamped(margin) && time <= now.addingClamped(margin)
  }
}

extension Reconciliation {
  /// Compares a log and a control while both are written: the events of one interval after another, each interval a
  /// while after its end. Returns when the task is cancelled, by throwing `CancellationError`.
  ///
  /// Each event is counted in one report, by its time: a pair by the time here. Partners are looked for up to `delay`
  /// around an interval.
  ///
  /// ```swift
  /// try await Reconciliation.run(log: "events", against: "control", every: .seconds(60), delay: .seconds(120)) {
  ///   if $0.all[.unknown] > 0 { logger.warning("\($0.text)") }
  /// }
  /// ```
  ///
  /// An event that comes later than `delay` after its interval's end is in no report: choose a delay that the control
  /// keeps. An event without a time is in none either. A control that is a file is read up to its last whole line.
  ///
  /// **Cost.** Both sides are read once, and `delay` around each interval again. A thread of its own, for as long as a
  /// comparison takes.
  ///
  /// **Crash.** Go on where ``ReconciliationReport/times`` of the last report ended, with `from`.
  ///
  /// A control that was rotated or cut is read from its beginning; what it had before and was not yet compared is then
  /// only here. `options.again` is not used.
  ///
  /// - Parameters:
  ///   - log: the log's directory.
  ///   - control: the control's directory or file.
  ///   - options: what is compared, and how.
  ///   - interval: the length of a window.
  ///   - delay: how long after its end a window is compared.
  ///   - from: the beginning of the first window; `nil` for now. Windows that are over are compared at once.
  ///   - report: gets the report of each window. What it throws ends the run.
  public static func run(
    log: String, against control: String, options: Options = Options(), every interval: Duration = .seconds(60),
    delay: Duration = .seconds(120), from: Timestamp? = nil,
    _ report: (ReconciliationReport) async throws -> Void
  ) async throws {
    let length = Int64(clamping: max(1, interval.wholeNanoseconds))
    let margin = Int64(clamping: delay.wholeNanoseconds)
    let first = (from ?? .now).nanosecondsSince1970
    var window = ComparisonWindow(counted: first..<first.addingClamped(length), margin: margin)
    while true {
      try Task.checkCancellation()
      let wait = window.counted.upperBound.addingClamped(margin).subtractingClamped(Timestamp.now.nanosecondsSince1970)
      if wait > 0 { try await Task.sleep(for: .nanoseconds(wait)) }
      window.now = Timestamp.now.nanosecondsSince1970
      let now = window
      let result = try await onDiskThread { () throws(WeirError) in
        try Reconciliation(log: log, against: control, in: now, options).run(in: now)
      }
      try await report(result.report)
      window.start = result.start
      window.explained = result.explained
      window.counted = window.counted.upperBound..<window.counted.upperBound.addingClamped(length)
    }
  }

  /// Opens both sides at the places from which a window is read.
  private init(
    log: String, against control: String, in window: ComparisonWindow, _ options: Options
  ) throws(WeirError) {
    var there = try ControlSource(
      control, form: options.form, zone: options.controlZone, from: window.start.there)
    if let known = window.start.file, try there.identity() != known {
      there = try ControlSource(control, form: options.form, zone: options.controlZone, from: 0)
    }
    if case .log(let control) = there {
      let here = try LogSource(log, from: window.start.here)
      if try control.isCopy(of: here) { there = .log(try LogSource(control.directory, from: window.start.there)) }
    }
    let here = try LogSource(
      log, entry: options.entry, foreignIDPath: options.foreignID, from: window.start.here)
    self.init(LogDirectory(log), here, there, nil, options)
  }
}

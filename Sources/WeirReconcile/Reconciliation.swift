// Reconciliation: a log held against a control, with the reason for each difference.

package import Weir
package import WeirDelivery

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Holds the events of a log against those of a control, event by event.
package struct Reconciliation: Sendable {
  /// What is compared, and how.
  package struct Options: Sendable {
    package var rules = ComparisonRules()
    /// The form of the control's lines; `nil` to tell it from each line.
    package var form: ControlForm?
    /// What a provider gets of the log's events, if the control is behind that provider.
    package var entry: DeliveryPlan.Entry?
    /// The provider that led to the control, whose accounts say what did not arrive; `nil` for none.
    package var provider: String?
    /// The field of the log's events with the id that another program gave; `nil` for none.
    package var foreignID: String?
    /// The memory for what is matched at once, in bytes.
    package var memoryBytes = 512 << 20
    package var threads = 2
    /// Whether the examples show sensitive values.
    package var showsSensitive = false

    package init() {}
  }

  /// Below this many partitions nothing is gained.
  private static let partitions = 16...1_024
  /// Marks are sorted, and a file's text and the events of a part are in memory beside them.
  private static let memoryShare = 8
  /// The number of examples of one verdict.
  private static let mostExamples = 5
  /// The number of marks that are looked at at once.
  private static let marksAtOnce = 1 << 20

  private let log: LogDirectory
  private let here: LogSource
  private let there: Control
  private let options: Options

  private enum Control: Sendable {
    case lines(JSONLinesSource)
    case table(CSVSource)
    case log(LogSource)

    var byteCount: Int {
      switch self {
      case .lines(let source): source.file.byteCount
      case .table(let source): source.file.byteCount
      case .log(let source): source.range.count * 100
      }
    }
  }

  /// Opens both sides. A directory is a log, and a file whose name ends in `.csv` is a table. Throws `missing` if one is not there.
  package init(log: String, against control: String, options: Options) throws(WeirError) {
    self.log = LogDirectory(log)
    self.options = options
    here = try LogSource(log, entry: options.entry, foreignIDPath: options.foreignID)
    there = try Self.control(control, here, options.form)
  }

  private static func control(
    _ path: String, _ here: LogSource, _ form: ControlForm?
  ) throws(WeirError) -> Control {
    if Self.isDirectory(path) {
      let log = try LogSource(path)
      return .log(try log.isCopy(of: here) ? log : LogSource(path, isControl: true))
    }
    let file = try ControlFile(path)
    return CSVSource.isTable(path) ? .table(try CSVSource(file)) : .lines(JSONLinesSource(file: file, form: form))
  }

  private static func isDirectory(_ path: String) -> Bool { (try? SystemCalls().openDirectory(path)) != nil }

  /// Compares. Scratch files, 64 bytes an event, are made in a directory that is there and empty.
  package func run(
    scratch: String, _ progress: @Sendable (String) -> Void = { _ in }
  ) throws(WeirError) -> ReconciliationReport {
    switch there {
    case .lines(let source): try run(source, options.rules, scratch, progress)
    case .table(let source): try run(source, CSVSource.rules(options.rules), scratch, progress)
    case .log(let source): try run(source, options.rules, scratch, progress)
    }
  }

  private func run<There: EventSource>(
    _ there: There, _ rules: ComparisonRules, _ scratch: String, _ progress: @Sendable (String) -> Void
  ) throws(WeirError) -> ReconciliationReport {
    let directory = try SystemCalls().openDirectory(scratch)
    // A line with an event has a hundred bytes or more.
    let marks = here.range.count + self.there.byteCount / 100
    let partitions = marks * MemoryLayout<EventMark>.stride * Self.memoryShare / max(1, options.memoryBytes)
    let reconciler = Reconciler(
      here, there, rules,
      partitions: min(max(partitions, Self.partitions.lowerBound), Self.partitions.upperBound),
      threads: options.threads, in: directory)
    let tally = try reconciler.run(progress)
    progress("asking for the reasons")
    var reporting = Reporting(log, here, there, options, reconciler, tally)
    return try reporting.report()
  }

  /// Makes a report of what a reconciler found.
  private struct Reporting<There: EventSource> {
    private let log: LogDirectory
    private let here: LogSource
    private let there: There
    private let options: Options
    private let reconciler: Reconciler<LogSource, There>
    private var tally: Tally
    private var reasons: [ReconciliationReport.ReasonCount] = []
    private var examples: [ReconciliationReport.Sample] = []
    /// Places of events that become examples, by verdict and reason.
    private var chosen: [(verdict: ReconciliationReport.Verdict, reason: String?, mark: EventMark)] = []

    init(
      _ log: LogDirectory, _ here: LogSource, _ there: There, _ options: Options,
      _ reconciler: Reconciler<LogSource, There>, _ tally: Tally
    ) {
      self.log = log
      self.here = here
      self.there = there
      self.options = options
      self.reconciler = reconciler
      self.tally = tally
    }

    mutating func report() throws(WeirError) -> ReconciliationReport {
      try explainOnlyHere()
      try explainOnlyThere()
      for (verdict, file) in [
        (ReconciliationReport.Verdict.duplicateHere, reconciler.duplicatesHere),
        (.duplicateThere, reconciler.duplicatesThere),
      ] {
        for mark in try file.records(0..<min(Self.most, file.count)) { chosen.append((verdict, nil, mark)) }
      }
      try makeExamples()
      var report = ReconciliationReport()
      report.here = tally.here
      report.there = tally.there
      report.unreadable = tally.unreadable
      report.offsets = here.range
      report.byWay = tally.byWay
      report.firstDivergence = tally.firstDivergence.map { Timestamp(nanosecondsSince1970: $0) }
      for (name, counts) in tally.byName {
        report.all.add(counts)
        report.byName[self.name(name), default: .init()].add(counts)
      }
      report.fields = tally.fields.map { key, count in
        .init(name: name(key.name), path: key.path, kind: key.kind, count: count)
      }.sorted { ($1.count, $0.name, $0.path, $0.kind) < ($0.count, $1.name, $1.path, $1.kind) }
      report.reasons = reasons.sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
      report.samples = examples
      return report
    }

    private static var most: Int { Reconciliation.mostExamples }
    private static var mostDiffering: Int { 10 }

    private func name(_ number: UInt64) -> String {
      reconciler.names.text(of: UInt16(truncatingIfNeeded: number)) ?? "(other names)"
    }

    // MARK: Reasons

    /// Counts an event that is on one side only, with what explains it.
    private mutating func count(
      _ mark: EventMark, _ verdict: ReconciliationReport.Verdict, _ reason: String?, _ counts: inout [String: UInt64]
    ) {
      tally.add(verdict, mark)
      if reason == nil { tally.add(.unknown, mark) }
      let text = reason ?? "unknown"
      counts[text, default: 0] += 1
      if counts[text, default: 0] <= UInt64(Self.most) { chosen.append((verdict, text, mark)) }
    }

    private mutating func explainOnlyHere() throws(WeirError) {
      var counts: [String: UInt64] = [:]
      for mark in try marks(reconciler.dropped) {
        let outcome = reconciler.outcomes.text(of: mark.outcome) ?? "other outcomes"
        count(mark, .onlyHere, "the control did not pass it on: \(outcome)", &counts)
      }
      let states = try providerStates()
      for mark in try marks(reconciler.onlyHere) {
        var reason: String?
        if let (provider, states) = states { reason = Self.reason(states(mark.place), at: provider) }
        count(mark, .onlyHere, reason ?? outside(mark.time), &counts)
      }
      add(counts, .onlyHere)
    }

    private mutating func explainOnlyThere() throws(WeirError) {
      var counts: [String: UInt64] = [:]
      var losses = here.losses(tolerance: options.rules.tolerance)
      for mark in try marks(reconciler.onlyThere).sorted(by: { $0.time < $1.time }) {
        count(mark, .onlyThere, losses.reason(at: mark.time), &counts)
      }
      add(counts, .onlyThere)
    }

    private mutating func add(_ counts: [String: UInt64], _ verdict: ReconciliationReport.Verdict) {
      for (reason, count) in counts { reasons.append(.init(verdict: verdict, reason: reason, count: count)) }
    }

    private func marks(_ file: SpilledFile<EventMark>) throws(WeirError) -> [EventMark] { try file.records() }

    /// Why an event of this time can't be in the control; `nil` if it can.
    private func outside(_ time: Int64) -> String? {
      guard let span = tally.timesThere else { return nil }
      if time < span.lowerBound.subtractingClamped(options.rules.tolerance) {
        return "before the control's first event"
      }
      return time > span.upperBound.addingClamped(options.rules.tolerance) ? "after the control's last event" : nil
    }

    /// The provider that led to the control, and what is noted about its events; `nil` if no provider is named.
    private func providerStates() throws(WeirError) -> (String, (Offset) -> DeliveryStates.State?)? {
      guard let provider = options.provider else { return nil }
      let states = DeliveryStates(log)
      repeat { _ = try states.update() } while states.isBehind
      guard let index = states.providers.firstIndex(of: provider) else {
        let names = states.providers.joined(separator: ", ")
        throw WeirError(
          .invalid, "\(log.path) has no provider \(provider); its providers are \(names.isEmpty ? "none" : names)",
          path: log.path)
      }
      return (provider, { states.states(of: $0)[index] })
    }

    private static func reason(_ state: DeliveryStates.State?, at provider: String) -> String? {
      switch state {
      case .pending, .given: "not delivered yet to \(provider)"
      case .rejected: "rejected by \(provider): in its dead letters"
      case .withheld: "withheld by the mapper of \(provider)"
      case .before: "captured before \(provider) began"
      case .acknowledged, nil: nil
      }
    }

    // MARK: Examples

    private mutating func makeExamples() throws(WeirError) {
      for (key, found) in tally.examples.sorted(by: { tally.fields[$0.key] ?? 0 > tally.fields[$1.key] ?? 0 }) {
        for example in found.prefix(1) where examples.count < Self.mostDiffering {
          examples.append(
            .init(
              verdict: .differing, name: name(key.name), reason: "\(key.path): \(key.kind.rawValue)",
              here: text(example.here),
              there: text(example.there)))
        }
      }
      for (verdict, reason, mark) in chosen {
        var shown: ComparedEvent?
        let isHere = [.onlyHere, .duplicateHere].contains(verdict)
        if isHere {
          try here.read(at: [mark.place]) { event, _ in shown = event }
        } else {
          try there.read(at: [mark.place]) { event, _ in shown = event }
        }
        let text = shown.map { self.text($0) }
        examples.append(
          .init(
            verdict: verdict, name: name(UInt64(mark.name)), reason: reason, here: isHere ? text : nil,
            there: isHere ? nil : text))
      }
    }

    /// An event as JSON. Values that are sensitive in the log are replaced on both sides.
    private func text(_ event: ComparedEvent) -> String {
      let sensitive = here.sensitiveFields(of: event.name)
      var fields = event.fields
      if !options.showsSensitive, !sensitive.isEmpty {
        fields = FieldObject(
          fields.map { member in
            sensitive.contains(member.name) ? FieldObject.Member(name: member.name, value: .redacted) : member
          })
      }
      var members: [(String, FieldValue)] = [("event", .string(event.name))]
      if event.time != .min {
        members.insert(("time", .string(Timestamp(nanosecondsSince1970: event.time).description)), at: 0)
      }
      if let user = event.user { members.append(("user", .string(user))) }
      if let id = event.id { members.append(("id", .string(id.description))) }
      members.append(("fields", .object(fields)))
      return ReportJSON.text(.object(FieldObject(members)))
    }
  }
}

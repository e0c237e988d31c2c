// ReportMaker: makes a report of what a reconciler found, with the reasons.

import Weir
import WeirDelivery

/// Makes a report of what a reconciler found.
struct ReportMaker {
  /// The number of examples of one verdict.
  private static let most = 5
  private static let mostDiffering = 10

  private let log: LogDirectory
  private let here: LogSource
  private let there: ControlSource
  private let equal: EqualSegments
  private let options: Reconciliation.Options
  private let noise: Noise?
  private let window: ComparisonWindow?
  private let reconciler: Reconciler<LogSource, ControlSource>
  private var tally: Tally
  private var reasons: [ReconciliationReport.ReasonCount] = []
  private var examples: [ReconciliationReport.Sample] = []
  /// Places of events that become examples, by verdict and reason.
  private var chosen: [(verdict: ReconciliationReport.Verdict, reason: String?, mark: EventMark)] = []
  /// What was put down to each loss, by the offset of its notice.
  private(set) var explained: [Offset: UInt64] = [:]

  init(
    _ sides: Reconciliation, _ noise: Noise?, _ window: ComparisonWindow?,
    _ reconciler: Reconciler<LogSource, ControlSource>, _ tally: Tally
  ) {
    log = sides.log
    here = sides.here
    there = sides.there
    equal = sides.equal
    options = sides.options
    self.noise = noise
    self.window = window
    self.reconciler = reconciler
    self.tally = tally
  }

  mutating func report() throws(WeirError) -> ReconciliationReport {
    let fields = tally.fields.map { key, count in
      let name = name(key.name)
      let pairs = tally.byName[key.name].map { $0[.identical] + $0[.differing] } ?? 0
      let noise = noise?.difference(.init(name: name, path: key.path, kind: key.kind), count: count, of: pairs)
      return (
        key,
        ReconciliationReport.FieldCount(name: name, path: key.path, kind: key.kind, count: count, noise: noise)
      )
    }
    let silent = Set(fields.filter { $1.noise?.isBlamed == false }.map(\.0))
    tally.settle { silent.contains($0) }
    try explainOnlyHere()
    try explainOnlyThere()
    for (verdict, file) in [
      (ReconciliationReport.Verdict.duplicateHere, reconciler.duplicatesHere),
      (.duplicateThere, reconciler.duplicatesThere),
    ] {
      for mark in try file.prefix(Self.most) { chosen.append((verdict, nil, mark)) }
    }
    try makeExamples(besides: silent)
    var report = ReconciliationReport()
    report.all[.identical] = try takeEqual()
    report.here = tally.here
    report.there = tally.there
    report.unreadable = tally.unreadable
    report.offsets = here.range
    report.times = window.map {
      Timestamp(
        nanosecondsSince1970: $0.counted.lowerBound)..<Timestamp(
          nanosecondsSince1970: $0.counted.upperBound)
    }
    report.byWay = tally.byWay
    report.firstDivergence = tally.firstDivergence.map { Timestamp(nanosecondsSince1970: $0) }
    for (name, counts) in tally.byName {
      report.all.add(counts)
      report.byName[self.name(name), default: .init()].add(counts)
    }
    report.fields = fields.map(\.1).sorted {
      ($1.count, $0.name, $0.path, $0.kind) < ($0.count, $1.name, $1.path, $1.kind)
    }
    report.reasons = reasons.sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    report.samples = examples
    report.outside = outside(report.byName)
    return report
  }

  /// Counts the events of equal segments: by name if something differs, because a share of a name needs all events
  /// of the name. Otherwise their segments say how many they are, and the number is returned.
  private mutating func takeEqual() throws(WeirError) -> UInt64 {
    let names = tally.firstDivergence == nil ? nil : try here.equalNames(threads: options.threads)
    let count = names?.values.reduce(0, +) ?? equal.events
    tally.here += count
    tally.there += count
    if count > 0 { tally.byWay[.id, default: 0] += count }
    for (name, count) in names ?? [:] {
      tally.byName[UInt64(reconciler.names.number(of: name)), default: .init()][.identical] += count
    }
    return names == nil ? count : 0
  }

  private func name(_ number: UInt64) -> String {
    reconciler.names.text(of: UInt16(truncatingIfNeeded: number)) ?? "(other names)"
  }

  private func outside(_ byName: [String: ReconciliationReport.Counts]) -> [String] {
    let bands = options.rules.bands.map { (names: TextPattern($0.names), share: $0.share) }
    return byName.filter { name, counts in
      let bad = [.differing, .duplicateHere, .duplicateThere, .unknown].reduce(0) { $0 + counts[$1] }
      let all = [.identical, .differing, .noise, .onlyHere, .onlyThere].reduce(0) { $0 + counts[$1] }
      let share = bands.first { $0.names.matches(name) }?.share ?? 0
      return Double(bad) > share * Double(max(all, 1))
    }.map(\.key).sorted()
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
    try reconciler.dropped.scan { mark in
      let outcome = reconciler.outcomes.text(of: mark.outcome) ?? "other outcomes"
      count(mark, .onlyHere, "the control did not pass it on: \(outcome)", &counts)
    }
    let states = try providerStates()
    try reconciler.onlyHere.scan { mark in
      var reason: String?
      if let (provider, states) = states { reason = Self.reason(states(mark.place), at: provider) }
      count(mark, .onlyHere, reason ?? outside(mark.time), &counts)
    }
    add(counts, .onlyHere)
  }

  private mutating func explainOnlyThere() throws(WeirError) {
    var counts: [String: UInt64] = [:]
    try reconciler.withheld.scan { mark in
      count(mark, .onlyThere, reconciler.outcomes.text(of: mark.outcome), &counts)
    }
    var losses = here.losses(tolerance: options.rules.toleranceTime, in: window)
    try reconciler.onlyThere.scan { mark in
      count(mark, .onlyThere, losses.reason(at: mark.time), &counts)
    }
    explained = losses.explained
    add(counts, .onlyThere)
  }

  private mutating func add(_ counts: [String: UInt64], _ verdict: ReconciliationReport.Verdict) {
    for (reason, count) in counts { reasons.append(.init(verdict: verdict, reason: reason, count: count)) }
  }

  /// Why an event of this time can't be in the control; `nil` if it can.
  private func outside(_ time: Int64) -> String? {
    guard time != .min, window == nil, let span = tally.timesThere else { return nil }
    if time < span.lowerBound.subtractingClamped(options.rules.toleranceTime) {
      return "before the control's first event"
    }
    return time > span.upperBound.addingClamped(options.rules.toleranceTime) ? "after the control's last event" : nil
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

  private mutating func makeExamples(besides silent: Set<Tally.FieldKey>) throws(WeirError) {
    let keys = tally.examples.keys.filter { !silent.contains($0) }.sorted { one, other in
      (tally.fields[other] ?? 0, name(one.name), one.path, one.kind)
        < (tally.fields[one] ?? 0, name(other.name), other.path, other.kind)
    }
    for key in keys.prefix(Self.mostDiffering) {
      guard let example = tally.examples[key] else { continue }
      examples.append(
        .init(
          verdict: .differing, name: name(key.name), reason: "\(key.path): \(key.kind.rawValue)",
          here: text(example.here), there: text(example.there),
          difference: shown(example.difference, of: example.here)))
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

  /// Whether a field of an event is not shown: one that is sensitive in any event of either log, or lies in such a field.
  private func isSensitive(_ path: String, of event: ComparedEvent) -> Bool {
    guard !options.showsSensitive else { return false }
    return sensitive.union(event.sensitive).contains { path == $0 || path.hasPrefix($0 + ".") }
  }

  private var sensitive: Set<String> {
    if case .log(let log) = there { here.sensitiveFields.union(log.sensitiveFields) } else { here.sensitiveFields }
  }

  /// A difference without sensitive values.
  private func shown(_ difference: FieldDifference, of event: ComparedEvent) -> FieldDifference {
    guard isSensitive(difference.path, of: event) else { return difference }
    var shown = difference
    (shown.here, shown.there) = (shown.here.map { _ in .redacted }, shown.there.map { _ in .redacted })
    return shown
  }

  /// An event as JSON. Values that are sensitive are replaced on both sides.
  private func text(_ event: ComparedEvent) -> String {
    let fields = FieldObject(
      event.fields.map { member in
        isSensitive(member.name, of: event) ? FieldObject.Member(name: member.name, value: .redacted) : member
      })
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

// Targets.swift: what a run says about the targets that Weir sets itself: ratios within the run, never absolute times.

/// One target, held against a run.
struct Verdict {
  let target: String
  let measured: String
  /// Nil: a figure that is reported without a target.
  let isMet: Bool?
}

/// The targets that the run can judge.
func verdicts(_ session: Session) -> [Verdict] {
  captureVerdicts(session) + scopeVerdicts(session) + threadVerdicts(session) + optionVerdicts(session)
    + tailVerdicts(session) + flowVerdicts(session)
}

/// A ratio that is to be at most `limit`; nothing if one side was not measured.
private func ratio(_ target: String, _ value: ResultLine?, _ base: ResultLine?, atMost limit: Double?) -> [Verdict] {
  ratio(target, value?.p50, base?.p50, atMost: limit)
}

private func ratio(_ target: String, _ value: Double?, _ base: Double?, atMost limit: Double?) -> [Verdict] {
  guard let value, let base, base > 0 else { return [] }
  let measured = "\(fixed(value / base)) (\(fixed(value)) / \(fixed(base)))"
  return [Verdict(target: target, measured: measured, isMet: limit.map { value / base <= $0 })]
}

private func captureVerdicts(_ session: Session) -> [Verdict] {
  func line(_ subject: String) -> ResultLine? { session.line("capture", subject) }
  return ratio("weir-c at most 1.25 floor", line("weir-c"), line("floor"), atMost: 1.25)
    + ratio("weir-c-call at most 1.25 floor", line("weir-c-call"), line("floor"), atMost: 1.25)
    + ratio("weir-c, of floor-drained", line("weir-c"), line("floor-drained"), atMost: nil)
    + ratio("weir-swift at most 1.6 floor", line("weir-swift"), line("floor"), atMost: 1.6)
    + ratio("weir-swift, of floor-drained", line("weir-swift"), line("floor-drained"), atMost: nil)
    + ratio("weir-swift-macro at most 1.1 weir-swift", line("weir-swift-macro"), line("weir-swift"), atMost: 1.1)
    + ratio("weir-swift-array, of floor", line("weir-swift-array"), line("floor"), atMost: nil)
    + ratio("weir-swift below moodycamel", line("weir-swift"), line("moodycamel"), atMost: 1)
    + ratio("weir-swift at most 1/5 lttng-ust", line("weir-swift"), line("lttng-ust"), atMost: 0.2)
    + ratio("weir-swift at most 1/20 spdlog", line("weir-swift"), line("spdlog"), atMost: 0.05)
}

/// What a capture costs more than one in a process that binds nothing, of a bare read of a task-local value.
private func scopeVerdicts(_ session: Session) -> [Verdict] {
  func time(_ subject: String) -> Double? { session.line("scope", subject)?.p50 }
  func more(_ subject: String) -> Double? {
    guard let scoped = time(subject), let bare = time("weir-swift") else { return nil }
    return scoped - bare
  }
  return ratio(
    "nothing bound here: at most 1.3 of a read", more("weir-swift-unbound"), time("local-unbound"), atMost: 1.3)
    + ratio("a user bound: at most 1.3 of a read", more("weir-swift-scope"), time("local-bound"), atMost: 1.3)
    + ratio("nothing bound here, of a word's read", more("weir-swift-unbound"), time("local-word-unbound"), atMost: nil)
    + ratio("a user bound, of a word's read", more("weir-swift-scope"), time("local-word-bound"), atMost: nil)
}

private func threadVerdicts(_ session: Session) -> [Verdict] {
  ["weir-c", "weir-swift"].flatMap { subject in
    ratio(
      "\(subject), 3 threads at most 1.3 of 1", session.line("capture", subject, threads: 3),
      session.line("capture", subject), atMost: 1.3)
  }
    + ["weir-c", "weir-swift"].flatMap { subject -> [Verdict] in
      guard let line = session.line("saturation", subject, threads: 16), let least = line.threadLeast,
        let most = line.threadMost
      else { return [] }
      return [
        Verdict(
          target: "\(subject), 16 threads: none starved", measured: "accepted by one: \(least) to \(most)",
          isMet: least > 0)
      ]
    }
    + ["weir-c", "weir-swift"].flatMap { subject in
      ratio(
        "\(subject), events/s of 16 threads, of 3", session.line("saturation", subject, threads: 16),
        session.line("saturation", subject, threads: 3), atMost: nil)
    }
}

private func optionVerdicts(_ session: Session) -> [Verdict] {
  func coarse(_ subject: String) -> ResultLine? { session.line("coarse", subject) }
  func codable(_ subject: String) -> ResultLine? {
    session.line("codable", subject) ?? session.line("capture", subject)
  }
  return ratio("coarse clock at most 0.8 of TSC", coarse("weir-c-coarse"), coarse("weir-c"), atMost: 0.8)
    + ratio("tick word at most 0.5 of TSC", coarse("weir-c-tick"), coarse("weir-c"), atMost: 0.5)
    + ratio(
      "Codable at most 1.3 of discarding", codable("weir-swift-codable"), codable("codable-discard"), atMost: 1.3)
}

private func tailVerdicts(_ session: Session) -> [Verdict] {
  func p999(_ subject: String, _ ring: RingPlace) -> Double? {
    session.line("tail", subject, ring: ring.rawValue)?.p999
  }
  return ["weir-c", "weir-swift"].flatMap { subject in
    ratio(
      "\(subject) p99.9 on tmpfs at most 2 floor", p999(subject, .tmpfs), p999("floor", .tmpfs), atMost: 2)
      + ratio(
        "\(subject) p99.9 on tmpfs, of floor-drained", p999(subject, .tmpfs), p999("floor-drained", .tmpfs),
        atMost: nil)
      + ratio(
        "\(subject) p99.9 in writeback at most 2 tmpfs", p999(subject, .diskWriteback), p999(subject, .tmpfs),
        atMost: 2)
  }
}

private func flowVerdicts(_ session: Session) -> [Verdict] {
  var verdicts: [Verdict] = []
  for threads in [2, 3] {
    if let weir = session.line("sustained", "weir-c", threads: threads),
      let mapped = session.line("sustained", "memcpy-mapped")
    {
      verdicts.append(
        Verdict(
          target: "sustained, \(threads) threads, at least 0.5 memcpy",
          measured: "\(fixed(weir.p50 / mapped.p50)) (\(fixed(weir.p50)) / \(fixed(mapped.p50)) MB/s)",
          isMet: weir.p50 / mapped.p50 >= 0.5 && weir.dropped == 0))
    }
  }
  for outcome in session.outcomes where outcome.bench == "idle" {
    let line = outcome.line
    let spread = "p50 \(fixed(line.p50 / 1000)), p99 \(fixed(line.p99 / 1000)) µs"
    let (target, measured, isMet): (String, String, Bool?) =
      switch (line.unit, line.subject) {
      case ("wakeups/s", _): ("idle, \(line.subject): under 5 wake-ups/s", fixed(line.p50), line.p50 < 5)
      case ("ns", "weir-c-first-in-log"): ("first event after idle in the log within 1 ms", spread, line.p99 < 1e6)
      case ("ns", _): ("first event after idle read", spread, nil)
      default: ("idle: under 0.1 % of a core", "\(fixed(line.p50)) %", line.p50 < 0.1)
      }
    verdicts.append(Verdict(target: target, measured: measured, isMet: isMet))
  }
  return verdicts
}

/// As lines: target, measured, met or missed.
func list(_ verdicts: [Verdict]) -> String {
  verdicts.map { verdict in
    let verdictWord = verdict.isMet.map { $0 ? "met" : "MISSED" } ?? "reported"
    return verdict.target.padding(toLength: 52, withPad: " ", startingAt: 0)
      + verdict.measured.padding(toLength: 40, withPad: " ", startingAt: 0) + verdictWord
  }.joined(separator: "\n")
}

// DeliveryOutcomeTests: what a delivery is said to have come to, in words, in exit codes and in `weir stat`.

#if Tool
  import ArgumentParser
  import Foundation
  import Synchronization
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirTool

  private func entry(
    _ name: String = "shop", acknowledged: UInt64 = 0, rejected: UInt64 = 0, pending: UInt64 = 0,
    lost: [Ledger.LossReason: UInt64] = [:], accepted: UInt64? = nil
  ) -> Ledger.Entry {
    var entry = Ledger.Entry(provider: name)
    entry.acknowledged = acknowledged
    entry.rejected = rejected
    entry.pending = pending
    entry.lost = lost
    entry.accepted = accepted ?? acknowledged + rejected + pending + lost.values.reduce(0, +)
    return entry
  }

  /// What became of events while a command ran.
  private func reported(
    _ name: String = "shop", acknowledged: UInt64 = 0, rejected: UInt64 = 0, pending: UInt64 = 0,
    lost: [Ledger.LossReason: UInt64] = [:], state: Ledger.ProviderState = .running
  ) -> DeliveryOutcome.Entry {
    DeliveryOutcome.Entry(
      DeliveryReport.Entry(
        provider: name, acknowledged: acknowledged, rejected: rejected, pending: pending, state: state, lost: lost))
  }

  private func outcome(_ entries: DeliveryOutcome.Entry...) -> DeliveryOutcome {
    DeliveryOutcome(log: "events", entries: entries, nanoseconds: 2_000_000_000)
  }

  struct DeliveryOutcomeTests {
    @Test func `the outcome tells what happened`() {
      let entry = reported(acknowledged: 30, rejected: 1, pending: 20, lost: [.damaged: 1])
      #expect(entry.counts == "30 acknowledged, 1 rejected, 20 pending, 1 lost (damaged: 1)")
      #expect(
        outcome(entry).lines == [
          "events to shop: 30 acknowledged, 1 rejected, 20 pending, 1 lost (damaged: 1), in 2.00 s (15 acknowledged/s)"
        ])
    }

    @Test func `numbers that somebody made up do not trap`() {
      let made = entry(
        acknowledged: .max, rejected: .max, lost: [.removed: .max, .damaged: .max], accepted: 0)
      #expect(!LedgerReport(made).text.isEmpty)
      let entry = reported(acknowledged: .max, rejected: .max, lost: [.removed: .max, .damaged: .max])
      #expect(!entry.counts.isEmpty)
      var watch = DeliveryWatch(before: [made], progress: nil) { _ in }
      watch.show([made])
    }

    @Test func `the gravest reason is the code`() {
      let fine = reported(acknowledged: 1)
      let rejecting = reported(rejected: 1)
      let waiting = reported(rejected: 1, pending: 1)
      let damaged = reported(lost: [.damaged: 1])
      let removed = reported(lost: [.removed: 1])
      let withheld = reported(lost: [.withheld: 1])
      let stopped = reported(rejected: 1, pending: 1, state: .stopped(reason: "401"))
      #expect(outcome(fine).exitCode == .success)
      #expect(outcome(fine, withheld).exitCode == .success)
      #expect(outcome(fine, damaged).exitCode == .damaged)
      #expect(outcome(removed).exitCode == .damaged)
      #expect(outcome(damaged, rejecting).exitCode == .eventsRefused)
      #expect(outcome(rejecting, waiting).exitCode == .pending)
      #expect(outcome(waiting, stopped).exitCode == .deliveryStopped)
      let codes: [ExitCode] = [.success, .damaged, .eventsRefused, .pending, .deliveryStopped, .cannotRun]
      for (index, code) in codes.enumerated() {
        #expect(DeliveryOutcome.gravest(Array(codes[...index])) == code)
      }
      #expect(Set(codes.map(\.rawValue)).count == codes.count)
    }

    @Test func `complaints say what to do`() {
      let stopped = reported(pending: 1, state: .stopped(reason: "no\u{1B}[31m key"))
      let rejecting = reported(rejected: 2)
      var waiting = reported(pending: 1)
      waiting.error = "refused"
      let lines = outcome(stopped, rejecting, waiting).complaints
      #expect(lines.count == 3)
      #expect(lines[0].contains("repair this"))
      #expect(!lines[0].contains("\u{1B}"))
      #expect(lines[1].contains("weir dead-letters events shop"))
      #expect(lines[2].contains("run again"))
      #expect(outcome(reported(acknowledged: 1)).complaints.isEmpty)
    }
  }

  struct DeliveryWatchTests {
    /// What is written when the states come at these seconds.
    private func lines(_ states: [(Int, Ledger.ProviderState, error: String?)], lost: [UInt64] = []) -> [String] {
      let lines = Mutex<[String]>([])
      var watch = DeliveryWatch(before: [], progress: nil, follows: true) { line in lines.withLock { $0.append(line) } }
      let start = ContinuousClock.now
      for (index, (second, state, error)) in states.enumerated() {
        var entry = entry(pending: 3)
        (entry.state, entry.error) = (state, error)
        var report = DeliveryReport([])
        if index < lost.count {
          report.entries = [
            DeliveryReport.Entry(
              provider: "shop", acknowledged: 0, rejected: 0, pending: 3, state: state,
              lost: [.damaged: lost[index], .withheld: 7])
          ]
        }
        watch.show([entry], report, at: start + .seconds(second))
      }
      return lines.withLock { $0 }
    }

    @Test func `a stop is told at once, and that it is over`() {
      let stop = Ledger.ProviderState.stopped(reason: "404")
      let told = lines([(0, .running, nil), (1, stop, "404"), (2, stop, "404"), (5, .running, nil), (6, .running, nil)])
      #expect(
        told == [
          "shop stopped: 404; 3 pending; repair this, delivery is tried again from time to time", "shop: continues",
        ])
      // Also where a trouble was told just before.
      let worse = lines([(0, .backingOff, "503"), (1, .stopped(reason: "404"), "404")])
      #expect(worse.count == 2)
      #expect(worse.last?.hasPrefix("shop stopped: 404") == true)
    }

    @Test func `a stop that lasts is told each hour`() {
      let told = lines((0...7200).map { ($0, .stopped(reason: "401"), "401") })
      #expect(told.count == 3)
    }

    @Test func `trouble that comes and goes is told at a bounded rate`() {
      let told = lines(
        (0..<1000).map { second in
          second.isMultiple(of: 2) ? (second, .stopped(reason: "404"), "404") : (second, .running, nil)
        })
      #expect(told.count <= 202, "\(told.count)")
      #expect(told.count >= 100, "\(told.count)")
      let words = lines((0..<1000).map { ($0, .backingOff, "error \($0)") })
      #expect(words.count == 100)
    }

    @Test func `losses are told as they are passed over`() {
      let running: [(Int, Ledger.ProviderState, error: String?)] = (0..<25).map { ($0, .running, nil) }
      #expect(lines(running, lost: Array(repeating: 0, count: 25)).isEmpty)
      let told = lines(running, lost: (0..<25).map { UInt64($0) })
      #expect(
        told == [
          "shop: 1 lost (damaged: 1); skipped", "shop: 11 lost (damaged: 11); skipped",
          "shop: 21 lost (damaged: 21); skipped",
        ])
    }
  }

  struct LedgerReportTests {
    @Test func `every key is there`() throws {
      var entry = entry(acknowledged: 1, rejected: 2, pending: 3, lost: [.removed: 4])
      (entry.from, entry.offset) = (5, 6)
      let report = LedgerReport(entry)
      #expect(report.text == "1 acknowledged, 2 rejected, 3 pending, 4 lost (removed: 4) of 10 accepted")
      #expect(try Table.json(report).contains("\"stopped\" : null"))
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(try Table.json(report).utf8)) as? [String: Any])
      let keys = [
        "provider", "from", "offset", "accepted", "acknowledged", "rejected", "pending", "pending_since", "lost",
        "durability",
        "rewound",
        "balanced", "stopped",
      ]
      #expect(Set(object.keys) == Set(keys))
      let numbers = ["from": 5, "offset": 6, "accepted": 10, "acknowledged": 1, "rejected": 2, "pending": 3]
      for (key, number) in numbers { #expect(object[key] as? Int == number, "\(key)") }
      #expect(object["balanced"] as? Bool == true)
      #expect(object["provider"] as? String == entry.provider)
      let lost = try #require(object["lost"] as? [String: Int])
      #expect(Set(lost.keys) == Set(Ledger.LossReason.allCases.map(\.rawValue)))
      #expect(lost.filter { $0.value > 0 } == ["removed": 4])
      for key in keys + Ledger.LossReason.allCases.map(\.rawValue) {
        #expect(StatCommand.helpMessage().contains(key), "weir help stat does not tell of \(key)")
      }
    }

    @Test func `the age of the oldest pending event is said`() throws {
      var entry = entry(pending: 3)
      #expect(try Table.json(LedgerReport(entry)).contains("\"pending_since\" : null"))
      entry.pendingSince = Timestamp(nanosecondsSince1970: 1_500_000_000)
      let report = LedgerReport(entry)
      #expect(report.pendingSince == "1970-01-01T00:00:01.500000000Z")
      #expect(report.text.contains(" 3 pending since 1970-01-01T00:00:01.500000000Z, 0 lost"))
    }

    @Test func `a stop is said`() throws {
      var entry = entry(pending: 1)
      entry.state = .stopped(reason: "404\u{1B} Not Found")
      let report = LedgerReport(entry)
      #expect(report.stopped == "404\u{1B} Not Found")
      #expect(report.text.contains("; stopped: 404"))
      #expect(!report.text.contains("\u{1B}"))
    }

    @Test func `a ledger that does not balance is said`() {
      #expect(LedgerReport(entry(acknowledged: 1, accepted: 2)).text.hasSuffix("of 2 accepted: does not balance"))
    }
  }
#endif

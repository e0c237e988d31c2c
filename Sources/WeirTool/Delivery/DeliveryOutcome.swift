// DeliveryOutcome: the outcome of a delivery, as a line for people and as an exit code.

#if Tool
  import ArgumentParser
  import Weir
  import WeirDelivery

  struct DeliveryOutcome: Sendable {
    /// The outcome of the log's events for one provider, while the command ran.
    struct Entry: Equatable, Sendable {
      var name: String
      var acknowledged: UInt64
      var rejected: UInt64
      var pending: UInt64
      /// Lost events, by reason.
      var lost: [Ledger.LossReason: UInt64]
      /// Why delivery stopped until somebody repairs something; `nil` if delivery did not stop.
      var stopped: String?
      /// The last error, if events are pending.
      var error: String?

      init(_ report: DeliveryReport.Entry) {
        name = report.provider
        acknowledged = report.acknowledged
        rejected = report.rejected
        pending = report.pending
        lost = report.lost
        if case .stopped(let reason) = report.state { stopped = reason }
        error = report.error
      }

      /// The numbers in words: "10,000 acknowledged, 2 rejected, 5 pending, 3 lost (damaged: 3)".
      var counts: String {
        "\(Quantity.count(acknowledged)) acknowledged, \(Quantity.count(rejected)) rejected, "
          + "\(Quantity.count(pending)) pending, \(Self.words(lost))"
      }

      /// Losses in words: "3 lost (damaged: 3)".
      static func words(_ lost: [Ledger.LossReason: UInt64]) -> String {
        let reasons = Ledger.LossReason.allCases.compactMap { reason in
          lost[reason].map { "\(reason.rawValue): \(Quantity.count($0))" }
        }
        let losses = Quantity.count(lost.values.reduce(0, &+)) + " lost"
        return reasons.isEmpty ? losses : "\(losses) (\(reasons.joined(separator: ", ")))"
      }
    }

    var log: String
    var entries: [Entry]
    var nanoseconds: UInt64

    /// A line for each provider.
    var lines: [String] {
      entries.map { entry in
        let seconds = Double(nanoseconds) / 1_000_000_000
        let rate = seconds > 0 ? UInt64(Double(entry.acknowledged) / seconds) : 0
        return "\(Terminal.printable(log)) to \(entry.name): \(entry.counts), in \(Quantity.seconds(nanoseconds)) "
          + "(\(Quantity.count(rate)) acknowledged/s)"
      }
    }

    /// The problems, one line each.
    var complaints: [String] {
      entries.flatMap { entry in
        var lines: [String] = []
        if let reason = entry.stopped {
          lines.append(
            "\(entry.name) stopped: \(Terminal.printable(reason)); the events are kept, repair this and run again")
        } else if entry.pending > 0, let error = entry.error {
          lines.append("\(entry.name): \(Terminal.printable(error)); pending events are kept, run again to continue")
        }
        if entry.rejected > 0 {
          lines.append(
            "\(entry.name) rejected \(Quantity.count(entry.rejected)) events: "
              + "see weir dead-letters \(DemoCommand.quoted(log)) \(entry.name)")
        }
        return lines
      }
    }

    /// The exit code. The most serious reason comes first.
    var exitCode: ExitCode {
      if entries.contains(where: { $0.stopped != nil }) { return .deliveryStopped }
      if entries.contains(where: { $0.pending > 0 }) { return .pending }
      if entries.contains(where: { $0.rejected > 0 }) { return .eventsRefused }
      if entries.contains(where: { (($0.lost[.damaged] ?? 0) | ($0.lost[.removed] ?? 0)) > 0 }) { return .damaged }
      return .success
    }

    /// Whether the log has no more events for these providers.
    var isEmpty: Bool { entries.allSatisfy { $0.pending == 0 && $0.stopped == nil } }

    /// The most serious of several exit codes.
    static func gravest(_ codes: [ExitCode]) -> ExitCode {
      let order: [ExitCode] = [.cannotRun, .deliveryStopped, .pending, .eventsRefused, .damaged]
      return order.first { codes.contains($0) } ?? .success
    }
  }
#endif

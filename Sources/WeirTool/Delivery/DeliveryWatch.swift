// DeliveryWatch: the output of a delivery in progress: the progress line, each problem once, and lost events.

#if Tool
  import Weir
  import WeirDelivery

  struct DeliveryWatch {
    /// The shortest interval between two messages about the problems and losses of one provider.
    static let interval = Duration.seconds(10)
    /// The interval at which a lasting stop is reported again.
    static let reminder = Duration.seconds(3600)

    /// The last messages about a provider.
    private struct Told {
      /// The problem; `nil` if the delivery continues.
      var trouble: String?
      var isStopped = false
      var at: ContinuousClock.Instant
    }

    private let progress: Progress?
    /// The number of settled events of the providers when the delivery began.
    private let settledBefore: UInt64
    private let follows: Bool
    private let write: (String) -> Void
    /// The last messages, by provider.
    private var told: [String: Told] = [:]
    private var toldLosses: [String: (count: UInt64, at: ContinuousClock.Instant)] = [:]

    /// With `follows`, losses are reported when they occur. Otherwise the final line reports the losses.
    init(
      before: [Ledger.Entry], progress: Progress?, follows: Bool = false,
      write: @escaping (String) -> Void = { writeDiagnostic($0) }
    ) {
      self.progress = progress
      self.follows = follows
      self.write = write
      settledBefore = before.reduce(0) { $0 &+ Self.settled($1) }
    }

    /// Shows the progress, and reports new problems.
    mutating func show(
      _ entries: [Ledger.Entry], _ report: DeliveryReport = DeliveryReport([]),
      at now: ContinuousClock.Instant = .now
    ) {
      let settled = entries.reduce(0) { $0 &+ Self.settled($1) }
      let done = settled - min(settled, settledBefore)
      let pending = entries.reduce(0) { $0 &+ $1.pending }
      progress?.show(
        events: done, fraction: done | pending == 0 ? nil : Double(done) / (Double(done) + Double(pending)))
      for entry in entries { tell(entry, at: now) }
      for entry in report.entries where follows { tellLosses(entry, at: now) }
    }

    func end() { progress?.end() }

    private mutating func tell(_ entry: Ledger.Entry, at now: ContinuousClock.Instant) {
      let name = entry.provider
      let before = told[name]
      let isDue = before.map { now >= $0.at + Self.interval } ?? true
      switch entry.state {
      case .stopped(let reason):
        let text = Terminal.printable(reason)
        // The earlier problem has become worse.
        let isWorse = before.map { $0.trouble != nil && !$0.isStopped } ?? false
        let isKnown = before.map { $0.isStopped && $0.trouble == text } ?? false
        let isReminder = before.map { now >= $0.at + Self.reminder } ?? true
        guard isKnown ? isReminder : isDue || isWorse else { return }
        note(text, of: name, isStopped: true, at: now)
        let pending = Quantity.count(entry.pending)
        write("\(name) stopped: \(text); \(pending) pending; repair this, delivery is tried again from time to time")
      case .backingOff, .open:
        let text = Terminal.printable(entry.error ?? "the last try failed")
        guard before?.trouble != text, isDue else { return }
        note(text, of: name, isStopped: false, at: now)
        write("\(name): \(text); \(Quantity.count(entry.pending)) pending, trying again")
      case .starting, .running, .idle:
        guard entry.error == nil, before?.trouble != nil else { return }
        note(nil, of: name, isStopped: false, at: now)
        write("\(name): continues")
      }
    }

    private mutating func note(
      _ trouble: String?, of name: String, isStopped: Bool, at now: ContinuousClock.Instant
    ) {
      told[name] = Told(trouble: trouble, isStopped: isStopped, at: now)
    }

    /// Reports new losses. Events that a mapper withholds from a provider are not lost.
    private mutating func tellLosses(_ entry: DeliveryReport.Entry, at now: ContinuousClock.Instant) {
      let losses = entry.lost.filter { $0.key != .withheld }
      let lost = losses.values.reduce(0, &+)
      let before = toldLosses[entry.provider]
      guard lost > before?.count ?? 0, before.map({ now >= $0.at + Self.interval }) ?? true else { return }
      toldLosses[entry.provider] = (lost, now)
      write("\(entry.provider): \(DeliveryOutcome.Entry.words(losses)); skipped")
    }

    private static func settled(_ entry: Ledger.Entry) -> UInt64 {
      entry.acknowledged &+ entry.rejected &+ entry.lostInAll
    }
  }
#endif

// DeliveryRun: a delivery in progress, from its beginning to its report.

#if Tool
  import Weir
  import WeirDelivery

  struct DeliveryRun: Sendable {
    /// The interval at which the ledger is read.
    private static let interval = Duration.milliseconds(200)
    /// The longest interval, if a look takes long.
    private static let longestInterval = Duration.seconds(1)
    /// The shortest interval for a delivery that follows the log, which may have nothing to do for days.
    private static let followInterval = Duration.seconds(1)
    /// The interval while nothing happens.
    private static let idleInterval = Duration.seconds(60)
    /// The interval at which the stop switch is checked.
    private static let pause = Duration.milliseconds(20)
    /// The interval at which the progress of other processes is checked.
    private static let releaseInterval = Duration.seconds(1)
    /// The interval at which, during a capture, the delivery is checked for problems.
    private static let showInterval = Duration.seconds(5)
    /// How long a delivery may continue after a signal.
    private static let lastBudget = Duration.seconds(2)
    /// The longest wait for a flush, of which a delivery of any length may need several.
    private static let longestFlush = Duration.seconds(60)

    private let dispatcher: Dispatcher
    private let log: String
    private let names: [String]
    private let before: [Ledger.Entry]
    private let start = MonotonicTime.now.nanoseconds
    /// Set when the capture has ended and only the delivery continues, whose own watch reports problems.
    private let isEnding: Latch
    /// Checks what other processes delivered, and reports problems.
    private let releasing: Task<Void, Never>?

    /// Begins the delivery of the log in a directory, while another process may write the log.
    init(log: String, to providers: [(provider: any Provider, options: DeliveryOptions)]) async throws(WeirError) {
      let before = try LogDirectory(log).ledger()
      let dispatcher = try Dispatcher(directory: log, configuration: Self.configuration)
      try await self.init(log, dispatcher, providers, before, Latch(), releasing: nil)
    }

    /// Begins the delivery of a log that this process writes.
    init(
      of tracker: Tracker, to providers: [(provider: any Provider, options: DeliveryOptions)]
    ) async throws(WeirError) {
      let before = try LogDirectory(tracker.directory).ledger()
      let dispatcher = try Dispatcher(tracker, configuration: Self.configuration)
      let names = Set(providers.map(\.provider.name))
      let isEnding = Latch()
      let releasing = Task {
        // Reports problems while events are still captured. The progress line shows the capture.
        var watch = DeliveryWatch(before: [], progress: nil, follows: true)
        var nextShow = ContinuousClock.now + Self.showInterval
        while (try? await Task.sleep(for: Self.releaseInterval)) != nil {
          try? dispatcher.release()
          guard !isEnding.isSet, ContinuousClock.now >= nextShow else { continue }
          watch.show(dispatcher.ledger.entries.filter { names.contains($0.provider) }, dispatcher.report)
          nextShow = .now + Self.showInterval
        }
      }
      try await self.init(tracker.directory, dispatcher, providers, before, isEnding, releasing: releasing)
    }

    private init(
      _ log: String, _ dispatcher: Dispatcher, _ providers: [(provider: any Provider, options: DeliveryOptions)],
      _ before: Ledger, _ isEnding: Latch, releasing: Task<Void, Never>?
    ) async throws(WeirError) {
      self.isEnding = isEnding
      self.releasing = releasing
      do throws(WeirError) {
        try dispatcher.add(providers)
        try dispatcher.start()
      } catch {
        releasing?.cancel()
        _ = await dispatcher.shutdown(budget: .zero)
        throw error
      }
      self.log = log
      self.dispatcher = dispatcher
      names = providers.map(\.provider.name)
      self.before = names.compactMap { before[$0] }
    }

    /// Discards the library's messages: the tool reports problems from the ledger, in its own words.
    private static var configuration: Dispatcher.Configuration {
      var configuration = Dispatcher.Configuration()
      configuration.logger = nil
      configuration.planAuthor = .tool
      return configuration
    }

    /// Delivers until no events are pending except for stopped providers, or, for a delivery that follows, until the
    /// switch is thrown; at most until the deadline. Shows the progress.
    func end(follows: Bool, deadline: ContinuousClock.Instant?, stop: StopSwitch) async -> DeliveryOutcome {
      isEnding.set()
      let stopped = await watch(follows: follows, deadline: deadline, stop: stop)
      releasing?.cancel()
      _ = await dispatcher.shutdown(budget: stop.isThrown ? Self.lastBudget : .zero)
      var outcome = DeliveryOutcome(log: log, entries: [], nanoseconds: MonotonicTime.now.nanoseconds - start)
      let report = dispatcher.report
      for name in names {
        guard let reported = report.entries.first(where: { $0.provider == name }) else { continue }
        var entry = DeliveryOutcome.Entry(reported)
        entry.stopped = stopped[name]
        outcome.entries.append(entry)
      }
      return outcome
    }

    private var entries: [Ledger.Entry] {
      let ledger = dispatcher.ledger
      return names.compactMap { ledger[$0] }
    }

    /// Watches the delivery until it ends. Returns the reasons of the stopped providers, by name.
    private func watch(
      follows: Bool, deadline: ContinuousClock.Instant?, stop: StopSwitch
    ) async -> [String: String] {
      var watch = DeliveryWatch(before: before, progress: Progress(), follows: follows)
      defer { watch.end() }
      guard !follows else {
        await follow(&watch, deadline: deadline, stop: stop)
        return Self.reasons(entries)
      }
      let isFlushed = Latch()
      let flushing = Task { await flush(isFlushed) }
      defer { flushing.cancel() }
      var next = ContinuousClock.now + Self.interval
      while !stop.isThrown, !isFlushed.isSet, deadline.map({ ContinuousClock.now < $0 }) ?? true {
        let start = ContinuousClock.now
        if start >= next {
          let entries = entries
          // Reported at the end, with what to do.
          if Self.reasons(entries).count == names.count { break }
          // Losses are told at the end, too. So no report is made, which reads the log as a ledger does.
          watch.show(entries)
          // A ledger reads up to two segments, which takes time from the delivery.
          let now = ContinuousClock.now
          next = now + min(max(Self.interval, (now - start) * 50), Self.longestInterval)
        }
        try? await Task.sleep(for: Self.pause)
      }
      return Self.reasons(entries)
    }

    /// Shows what happens until the switch is thrown, at most until the deadline. Sleeps while nothing happens.
    private func follow(
      _ watch: inout DeliveryWatch, deadline: ContinuousClock.Instant?, stop: StopSwitch
    ) async {
      let clock = DeliveryClock(ContinuousClock())
      let end = deadline.map { clock.now + ContinuousClock.now.duration(to: $0) } ?? .seconds(Int64.max)
      let (stopped, news) = (Alarm(), Alarm())
      for alarm in [stopped, news] { stop.ring(alarm) }
      dispatcher.observe(news)
      defer { dispatcher.unobserve(news) }
      while !stop.isThrown, clock.now < end {
        watch.show(entries, dispatcher.report)
        await stopped.wait(until: min(clock.now + Self.followInterval, end), clock)
        if !stop.isThrown { await news.wait(until: min(clock.now + Self.idleInterval, end), clock) }
      }
    }

    /// Waits until no events are pending except for stopped providers.
    private func flush(_ isDone: Latch) async {
      var timeout = Duration.seconds(1)
      while !Task.isCancelled {
        let start = ContinuousClock.now
        let report = await dispatcher.flush(timeout: timeout)
        let isOver = report.entries.allSatisfy { entry in
          if case .stopped = entry.state { return true }
          return entry.pending == 0 || entry.waitsForWriter
        }
        if isOver { return isDone.set() }
        let taken = ContinuousClock.now - start
        if taken < timeout {
          // Nobody is left whom a flush waits for.
          try? await Task.sleep(for: max(taken, Self.interval))
        } else {
          // To count a log of many segments takes long, and a flush that is too short for it never knows the end.
          timeout = min(timeout * 2, max(Self.longestFlush, taken * 2))
        }
      }
    }

    private static func reasons(_ entries: [Ledger.Entry]) -> [String: String] {
      var reasons: [String: String] = [:]
      for entry in entries {
        if case .stopped(let reason) = entry.state { reasons[entry.provider] = reason }
      }
      return reasons
    }
  }
#endif

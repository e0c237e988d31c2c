// Instruments: the counters and meters that were made so far, and the names under which counts are published.

#if Metrics
  import Metrics
  import Weir
  import WeirContracts
  import WeirDelivery

  /// Counters and meters by name and dimensions, made when they are first used.
  struct Instruments: Sendable {
    private struct Key: Hashable {
      var name: String
      var provider: String?
      /// A dimension beside the provider.
      var name2: String?
      var value2: String?

      var dimensions: [(String, String)] {
        [("provider", provider), (name2 ?? "", value2)].compactMap { name, value in value.map { (name, $0) } }
      }
    }

    /// A counter, and the number that it has counted up to.
    private struct Growth {
      let counter: Counter
      var last: UInt64
    }

    /// The number at which a counter starts.
    private enum Start {
      /// The first update counts everything so far.
      case zero
      /// The first update counts nothing.
      case firstValue
    }

    /// What a number means that is lower than the last one.
    private enum Fall {
      /// Nothing: the number counts again once it is higher than before.
      case ignored
      /// The counts began again, because the log is a different one.
      case anew
      /// Some of what was counted is counted elsewhere now; the rest did not come again.
      case moved
    }

    private let factory: any MetricsFactory
    private var growths: [Key: Growth] = [:]
    private var meters: [Key: Meter] = [:]
    private var providers: Set<String> = []

    init(_ factory: any MetricsFactory) {
      self.factory = factory
    }

    private mutating func count(_ key: Key, _ value: UInt64, from start: Start = .zero, fall: Fall = .ignored) {
      let found = growths[key]
      var growth =
        found
        ?? Growth(
          counter: Counter(label: key.name, dimensions: key.dimensions, factory: factory),
          last: start == .zero ? 0 : value)
      let isLower = value < growth.last
      growth.counter.increment(by: Int64(clamping: !isLower ? value - growth.last : fall == .anew ? value : 0))
      if !isLower || fall != .ignored { growth.last = value }
      growths[key] = growth
    }

    private mutating func set(_ key: Key, _ value: Double) {
      let meter = meters[key] ?? Meter(label: key.name, dimensions: key.dimensions, factory: factory)
      meter.set(value)
      meters[key] = meter
    }

    private mutating func destroy(_ provider: String) {
      for (key, growth) in growths where key.provider == provider {
        growth.counter.destroy()
        growths[key] = nil
      }
      for (key, meter) in meters where key.provider == provider {
        meter.destroy()
        meters[key] = nil
      }
    }
  }

  // MARK: The log

  extension Instruments {
    private static let refusals: [DropReason] = [.full, .noLane, .tooLarge, .storage, .invalid, .closed, .detached]

    private static let counters: [(String, @Sendable (Counters) -> UInt64)] = [
      ("weir_captured_total", { $0.accepted }), ("weir_drained_total", { $0.drained }),
      ("weir_overwritten_total", { $0.overwritten }), ("weir_damaged_total", { $0.damaged }),
      ("weir_disk_lost_total", { $0.lost }), ("weir_blocks_total", { $0.blocks }),
      ("weir_segments_total", { $0.segments }), ("weir_wakeups_total", { $0.wakeups }),
      ("weir_syncs_total", { $0.syncs }), ("weir_delivered_removed_total", { $0.deliveredRemoved }),
      ("weir_batched_total", { $0.batched }), ("weir_batch_input_bytes_total", { $0.batchInput }),
      ("weir_batch_output_bytes_total", { $0.batchOutput }), ("weir_batch_failures_total", { $0.batchFailures }),
      ("weir_bindings_refused_total", { $0.bindingsRefused }),
    ]

    /// The counters that continue across openings.
    private static let lastingCounters: [(String, @Sendable (Counters) -> UInt64)] = [
      ("weir_expired_total", { $0.expired }), ("weir_displaced_total", { $0.displaced }),
    ]

    private static let meters: [(String, @Sendable (Counters) -> Double)] = [
      ("weir_lanes_in_use", { Double($0.lanesInUse) }),
      // The counters are not read at one instant.
      ("weir_undrained", { Double($0.accepted - min($0.drained, $0.accepted)) }),
      ("weir_unsynced", { Double($0.nextOffset - min($0.durableOffset, $0.nextOffset)) }),
      ("weir_batch_waiting", { Double($0.batchWaiting) }), ("weir_unbatched", { Double($0.unbatched) }),
      ("weir_types", { Double($0.types) }), ("weir_contexts", { Double($0.contexts) }),
      ("weir_colliding_types", { Double($0.collidingTypes) }),
      ("weir_storage_failing", { $0.storage == nil ? 0 : 1 }),
      ("weir_batching_failing", { $0.batching == nil ? 0 : 1 }),
    ]

    private static let violations: [(String, @Sendable (ViolationCounts) -> UInt64)] = [
      ("weir_inspected_total", { $0.inspected }), ("weir_violating_total", { $0.violating }),
      ("weir_violations_total", { $0.violations }), ("weir_defaulted_total", { $0.defaulted }),
      ("weir_uninspected_total", { $0.uninspected }), ("weir_unlogged_total", { $0.unlogged }),
    ]

    /// Publishes the counts of the capture, the files and the inspection.
    mutating func publish(log reading: LogReading) {
      if let counters = reading.counters {
        for (name, value) in Self.counters { count(Key(name: name), value(counters)) }
        for (name, value) in Self.lastingCounters { count(Key(name: name), value(counters), from: .firstValue) }
        for (name, value) in Self.meters { set(Key(name: name), value(counters)) }
        publish(dropped: counters.dropped, from: .zero)
      }
      if let statistics = reading.statistics {
        set(Key(name: "weir_disk_bytes"), Double(statistics.totalBytes))
        set(Key(name: "weir_segment_files"), Double(statistics.segments))
        if reading.counters == nil { publish(statistics) }
      }
      if let found = reading.violations {
        for (name, value) in Self.violations { count(Key(name: name), value(found)) }
      }
    }

    /// Publishes what the files show of a capture elsewhere. These counts continue across openings.
    private mutating func publish(_ statistics: LogDirectory.Statistics) {
      set(Key(name: "weir_lanes_in_use"), Double(statistics.lanesInUse))
      set(Key(name: "weir_undrained"), Double(statistics.laneEvents))
      for reason in [DropReason.overwritten, .expired, .displaced] {
        count(Key(name: "weir_\(reason.name)_total"), statistics.dropped[reason] ?? 0, from: .firstValue)
      }
      publish(dropped: statistics.dropped, from: .firstValue)
    }

    private mutating func publish(dropped: [DropReason: UInt64], from start: Start) {
      for reason in Self.refusals {
        let key = Key(name: "weir_refused_total", name2: "reason", value2: reason.name)
        count(key, dropped[reason] ?? 0, from: start)
      }
      count(Key(name: "weir_sampled_total"), dropped[.sampled] ?? 0, from: start)
    }
  }

  // MARK: Delivery

  extension Instruments {
    private static let preparation: [(String, @Sendable (PreparedEvent.Counts) -> UInt64)] = [
      ("weir_prepared_total", { $0.prepared }), ("weir_withheld_total", { $0.withheld }),
      ("weir_truncated_total", { $0.truncated }), ("weir_renamed_total", { $0.renamed }),
      ("weir_underived_total", { $0.underived.values.reduce(0, &+) }),
      ("weir_collisions_total", { $0.collisions.values.reduce(0, &+) }), ("weir_forgotten_total", { $0.forgotten }),
    ]

    private static let flags: [(String, @Sendable (PreparedEvent.Counts) -> UInt64)] = [
      ("violations", { $0.violating }), ("defaulted", { $0.defaulted }), ("duplicate_of", { $0.duplicates }),
    ]

    /// Publishes the ledger at this time, and the counts of the preparations.
    mutating func publish(_ ledger: Ledger, _ preparations: [String: PreparedEvent.Counts], at time: Timestamp) {
      for provider in providers where ledger[provider] == nil { destroy(provider) }
      providers = Set(ledger.entries.map(\.provider))
      for entry in ledger.entries {
        publish(entry, at: time)
        guard let counts = preparations[entry.provider] else { continue }
        for (name, value) in Self.preparation {
          count(Key(name: name, provider: entry.provider), value(counts), fall: .anew)
        }
        for (flag, value) in Self.flags {
          let key = Key(name: "weir_flagged_total", provider: entry.provider, name2: "flag", value2: flag)
          count(key, value(counts), fall: .anew)
        }
      }
    }

    private mutating func publish(_ entry: Ledger.Entry, at time: Timestamp) {
      let provider = entry.provider
      func key(_ name: String, reason: Ledger.LossReason? = nil) -> Key {
        Key(name: name, provider: provider, name2: reason.map { _ in "reason" }, value2: reason?.rawValue)
      }
      let isAnew = growths[key("weir_accepted_total")].map { entry.accepted < $0.last } ?? false
      // Rejected events become acknowledged events after a redrive.
      let rejectedFall: Fall = isAnew ? .anew : .moved
      for (name, value, fall) in [
        ("weir_accepted", entry.accepted, Fall.anew), ("weir_acknowledged", entry.acknowledged, .anew),
        ("weir_rejected", entry.rejected, rejectedFall),
      ] {
        set(key(name), Double(value))
        count(key(name + "_total"), value, from: .firstValue, fall: fall)
      }
      for reason in Ledger.LossReason.allCases {
        let lost = entry.lost[reason] ?? 0
        set(key("weir_lost", reason: reason), Double(lost))
        count(key("weir_lost_total", reason: reason), lost, from: .firstValue, fall: .anew)
      }
      // The clock may have been set back since the capture.
      let lag = entry.pendingSince.map { Double(time.nanosecondsSince1970) - Double($0.nanosecondsSince1970) } ?? 0
      set(key("weir_lag_seconds"), max(lag, 0) / 1e9)
      set(key("weir_pending"), Double(entry.pending))
      set(key("weir_running"), entry.state == .running ? 1 : 0)
      set(key("weir_balanced"), entry.isBalanced ? 1 : 0)
    }
  }
#endif

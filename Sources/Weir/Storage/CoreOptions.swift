// CoreOptions: a tracker's configuration in plain numbers, and its way into the core.

import CCapture
import CWeir

/// The options of an opening. The defaults come from the core, so that they are written down once.
struct CoreOptions {
  var laneCount: Int
  var spareLanes: Int
  var laneBytes: Int
  var segmentBytes: Int
  var maximumEventBytes: Int
  var drainNanoseconds: UInt64
  var whenFull: Tracker.OverflowPolicy
  var clock: Tracker.ClockSource
  var createsDirectory: Bool
  var ringDirectory: String?
  var durability = Tracker.Durability.processCrash
  var byteLimit: Int?
  var atByteLimit = Tracker.ByteLimitPolicy.refuse
  var retention = Tracker.Retention.all

  static func defaults() -> CoreOptions {
    var options = weir_options()
    weir_options_init(&options)
    return CoreOptions(
      laneCount: Int(options.lane_count), spareLanes: Int(options.spare_lanes), laneBytes: Int(options.lane_bytes),
      segmentBytes: Int(options.segment_bytes), maximumEventBytes: Int(options.max_event_bytes),
      drainNanoseconds: options.drain_interval_ns,
      whenFull: Tracker.OverflowPolicy(
        waitNanoseconds: options.full_wait_ns, overwrites: options.full_policy == UInt32(WEIR_FULL_DROP_OLDEST)),
      clock: .automatic, createsDirectory: options.create != 0)
  }

  /// The same for the core. Throws `invalid` for numbers that it could not even be given; it checks the rest itself.
  /// All but ``ringDirectory``, whose text the caller keeps alive.
  func forCore() throws(WeirError) -> weir_options {
    var options = weir_options()
    weir_options_init(&options)
    options.lane_count = try number(laneCount, "laneCount")
    options.spare_lanes = try number(spareLanes, "spareLanes")
    options.lane_bytes = try number(laneBytes, "laneBytes")
    options.segment_bytes = try number(segmentBytes, "segmentBytes")
    options.max_event_bytes = try number(maximumEventBytes, "maximumEventBytes")
    options.drain_interval_ns = drainNanoseconds
    options.full_wait_ns = whenFull.waitNanoseconds
    options.full_policy = UInt32(whenFull.overwrites ? WEIR_FULL_DROP_OLDEST : WEIR_FULL_DROP_NEWEST)
    options.create = createsDirectory ? 1 : 0
    options.sync_interval_ns = durability.interval
    // To the core 0 is none: a bound of nothing at all is the least there is, which it refuses or takes as it is.
    if let byteLimit { options.max_bytes = max(try number(byteLimit, "byteLimit"), 1) }
    options.limit_policy = UInt32(atByteLimit == .dropOldest ? WEIR_LIMIT_DROP_OLDEST : WEIR_LIMIT_REFUSE)
    if let bytes = retention.bytes { options.retain_bytes = max(try number(bytes, "retention.bytes"), 1) }
    options.retain_ns = retention.age.map { max($0.wholeNanoseconds, 1) } ?? 0
    options.clock =
      switch clock {
      case .automatic: UInt32(WEIR_CLOCK_AUTO)
      case .counter: UInt32(WEIR_CLOCK_TSC)
      case .monotonic: UInt32(WEIR_CLOCK_MONOTONIC)
      case .coarse: UInt32(WEIR_CLOCK_COARSE)
      case .tick: UInt32(WEIR_CLOCK_TICK)
      }
    return options
  }

  private func number<T: FixedWidthInteger>(_ value: Int, _ name: String) throws(WeirError) -> T {
    guard let number = T(exactly: value) else {
      throw WeirError(.invalid, "\(name) is \(value), which is out of range; leave it at its default")
    }
    return number
  }
}

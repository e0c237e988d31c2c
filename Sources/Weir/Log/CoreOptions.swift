// CoreOptions: a tracker's configuration in plain numbers, and its conversion for the core.

import CCapture
import CWeir

/// The options of an opening. The defaults come from the core, so that they are defined once.
package struct CoreOptions {
  var laneCount: Int
  var spareLanes: Int
  var laneBytes: Int
  var overflowBytes: Int
  var segmentBytes: Int
  var maximumEventBytes: Int
  var drainInterval: Duration
  var whenFull: Tracker.OverflowPolicy
  var clock: Tracker.ClockSource
  var createsDirectory: Bool
  var ringDirectory: String?
  var durability = Tracker.Durability.processCrash
  var byteLimit: Int?
  var atByteLimit = Tracker.ByteLimitPolicy.refuse
  var retention = Tracker.Retention.all
  var batchThreads = 0
  var removeDelivered = false
  /// Its callers do the work: see `SideLog`.
  var isThreadless = false

  static func defaults() -> CoreOptions {
    var options = weir_options()
    weir_options_init(&options)
    return CoreOptions(
      laneCount: Int(options.lane_count), spareLanes: Int(options.spare_lanes), laneBytes: Int(options.lane_bytes),
      overflowBytes: Int(options.overflow_bytes), segmentBytes: Int(options.segment_bytes),
      maximumEventBytes: Int(options.max_event_bytes),
      drainInterval: .nanoseconds(Int64(clamping: options.drain_interval_ns)),
      whenFull: Tracker.OverflowPolicy(
        waitNanoseconds: options.full_wait_ns, overwrites: options.full_policy == UInt32(WEIR_FULL_DROP_OLDEST)),
      clock: .automatic, createsDirectory: options.create != 0)
  }

  /// Converts the options, except for ``ringDirectory``, whose text the caller keeps alive. Throws `invalid` for values
  /// that C can't represent or would read as "not set". The core validates the rest.
  func forCore() throws(WeirError) -> weir_options {
    try checkBounds()
    var options = weir_options()
    weir_options_init(&options)
    options.lane_count = try number(laneCount, "laneCount")
    options.spare_lanes = try number(spareLanes, "spareLanes")
    options.lane_bytes = try number(laneBytes, "laneBytes")
    options.overflow_bytes = try number(overflowBytes, "overflowBytes")
    options.segment_bytes = try number(segmentBytes, "segmentBytes")
    options.max_event_bytes = try number(maximumEventBytes, "maximumEventBytes")
    options.drain_interval_ns = drainInterval.wholeNanoseconds
    options.full_wait_ns = whenFull.waitNanoseconds
    options.full_policy = UInt32(whenFull.overwrites ? WEIR_FULL_DROP_OLDEST : WEIR_FULL_DROP_NEWEST)
    options.create = createsDirectory ? 1 : 0
    // The core reads 0 as "not set". 1 is below the minimum of both options, so the core refuses it and names the
    // minimum.
    if let interval = durability.interval { options.sync_interval_ns = max(interval.wholeNanoseconds, 1) }
    if let byteLimit { options.max_bytes = max(try number(byteLimit, "byteLimit"), 1) }
    options.limit_policy = UInt32(atByteLimit == .dropOldest ? WEIR_LIMIT_DROP_OLDEST : WEIR_LIMIT_REFUSE)
    if let bytes = retention.bytes { options.retain_bytes = try number(bytes, "retention.bytes") }
    // An age between zero and a nanosecond becomes a nanosecond: the core reads 0 as "keep everything".
    options.retain_ns = retention.age.map { max($0.wholeNanoseconds, 1) } ?? 0
    options.batch_threads = try number(batchThreads, "batchThreads")
    options.remove_delivered = removeDelivered ? 1 : 0
    options.threadless = isThreadless ? 1 : 0
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

  /// Checks the options whose invalid values the core would read as "not set".
  private func checkBounds() throws(WeirError) {
    if let bytes = retention.bytes, bytes <= 0 {
      throw WeirError(.invalid, "retention.bytes is \(bytes); it must be above 0, or nil for no limit")
    }
    if let age = retention.age, age <= .zero {
      throw WeirError(.invalid, "retention.age is \(age.inWords); it must be above 0, or nil for no limit")
    }
    if atByteLimit == .dropOldest, byteLimit == nil {
      throw WeirError(.invalid, "atByteLimit is dropOldest, but byteLimit is nil; set byteLimit")
    }
    if ringDirectory == "" {
      throw WeirError(.invalid, "ringDirectory is empty; name a directory, or set nil for the log's own directory")
    }
  }

  private func number<T: FixedWidthInteger>(_ value: Int, _ name: String) throws(WeirError) -> T {
    guard let number = T(exactly: value) else {
      throw WeirError(.invalid, "\(name) is \(value), which is out of range; leave it at its default")
    }
    return number
  }
}

/// An option's name in C and in Swift. Messages of the core start with the C name: `the option lane_count is 1; …`.
/// Messages in Swift start with the Swift name: `laneCount is 1; …`.
struct OptionName {
  let core: String
  let swift: String
  /// The value as it was given, if the core got another one: nanoseconds for a `Duration`, 1 for a smaller number.
  var given: (@Sendable (CoreOptions) -> String?)?
  /// The unit of the core's number, if the number does not show it.
  var unit = ""

  static let all = [
    OptionName(core: "lane_count", swift: "laneCount"),
    OptionName(core: "spare_lanes", swift: "spareLanes"),
    OptionName(core: "lane_bytes", swift: "laneBytes"),
    OptionName(core: "overflow_bytes", swift: "overflowBytes"),
    OptionName(core: "segment_bytes", swift: "segmentBytes"),
    OptionName(core: "max_event_bytes", swift: "maximumEventBytes"),
    OptionName(
      core: "drain_interval_ns", swift: "drainInterval", given: { $0.drainInterval.inWords }, unit: " nanoseconds"),
    OptionName(core: "full_wait_ns", swift: "whenFull"),
    OptionName(core: "full_policy", swift: "whenFull"),
    OptionName(core: "clock", swift: "clock"),
    OptionName(core: "create", swift: "createDirectory"),
    OptionName(core: "ring_directory", swift: "ringDirectory"),
    OptionName(
      core: "sync_interval_ns", swift: "durability.interval",
      given: { $0.durability.interval?.inWords }, unit: " nanoseconds"),
    OptionName(core: "max_bytes", swift: "byteLimit", given: { options in options.byteLimit.map { "\($0)" } }),
    OptionName(core: "limit_policy", swift: "atByteLimit"),
    OptionName(core: "retain_bytes", swift: "retention.bytes"),
    OptionName(core: "retain_ns", swift: "retention.age"),
    OptionName(core: "batch_threads", swift: "batchThreads"),
    OptionName(core: "remove_delivered", swift: "removeDelivered"),
  ]

  /// Replaces the option's C name in a message of the core by the Swift name.
  static func inSwift(_ message: String) -> String {
    let limit = message.replacing("byte limit (max_bytes)", with: "byte limit (byteLimit)", maxReplacements: 1)
    for name in all {
      let beginning = "the option \(name.core) "
      if limit.hasPrefix(beginning) { return "\(name.swift) " + limit.dropFirst(beginning.count) }
    }
    return limit
  }
}

extension CoreOptions {
  /// Returns an opening error with the given value instead of the value that the core got.
  func asGiven(_ error: WeirError) -> WeirError {
    guard error.code == .invalid else { return error }
    for name in OptionName.all {
      let beginning = "\(name.swift) is "
      guard let given = name.given?(self), error.message.hasPrefix(beginning) else { continue }
      guard let end = error.message.firstIndex(of: ";") else { continue }
      let message = beginning + given + error.message[end...] + name.unit
      return WeirError(error.code, message, path: error.path, systemError: error.systemError)
    }
    return error
  }
}

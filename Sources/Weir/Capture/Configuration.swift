// Configuration: how a tracker opens its log.

public import Logging

extension Tracker {
  /// How a tracker opens its log. The defaults suit a server with up to 14 busy threads.
  ///
  /// ```swift
  /// var configuration = Tracker.Configuration()
  /// configuration.laneCount = 66
  /// configuration.whenFull = .block(upTo: .milliseconds(5))
  /// let tracker = try Tracker(directory: "/var/lib/shop/events", configuration: configuration)
  /// ```
  public struct Configuration: Sendable {
    /// Lanes, the spare ones included: one for each thread that captures. 16; 2 to 256.
    public var laneCount: Int

    /// Of the lanes, those that are lent for one capture at a time to threads that have none. 2; 1 to one less than
    /// ``laneCount``.
    public var spareLanes: Int

    /// Bytes of a lane. 1 MiB; a power of two, and above the largest event.
    public var laneBytes: Int

    /// Bytes of a segment file while it is being filled. 8 MiB; 1 MiB to 1 GiB.
    public var segmentBytes: Int

    /// The largest event, in bytes of encoded fields. 68 KiB; 64 bytes to 1 MiB.
    public var maximumEventBytes: Int

    /// The longest time from a capture to its event's being in the log, where readers see it. 1 ms; 50 µs to 10 s.
    public var drainInterval: Duration

    /// What a capture does when its lane is full. ``Tracker/OverflowPolicy/dropNewest``.
    public var whenFull: OverflowPolicy

    /// Where the time of an event comes from. ``Tracker/ClockSource/automatic``.
    public var clock: ClockSource

    /// Make the directory, with mode 0700, if it is missing. True.
    public var createDirectory: Bool

    /// Where recoveries and refused event types are reported; nil for nowhere. Nothing is logged by a capture in steady
    /// state.
    public var logger: Logger?

    /// The defaults.
    public init() {
      self.init(core: CoreOptions.defaults())
    }

    init(core: CoreOptions) {
      laneCount = core.laneCount
      spareLanes = core.spareLanes
      laneBytes = core.laneBytes
      segmentBytes = core.segmentBytes
      maximumEventBytes = core.maximumEventBytes
      drainInterval = .nanoseconds(Int64(clamping: core.drainNanoseconds))
      whenFull = OverflowPolicy(waitNanoseconds: core.waitNanoseconds)
      clock = .automatic
      createDirectory = true
      logger = Logger(label: "weir")
    }

    var core: CoreOptions {
      CoreOptions(
        laneCount: laneCount, spareLanes: spareLanes, laneBytes: laneBytes, segmentBytes: segmentBytes,
        maximumEventBytes: maximumEventBytes, drainNanoseconds: drainInterval.wholeNanoseconds,
        waitNanoseconds: whenFull.waitNanoseconds, clock: clock, createsDirectory: createDirectory)
    }
  }

  /// What a capture does when its lane is full because the log does not keep up.
  public struct OverflowPolicy: Hashable, Sendable {
    /// How long to wait; all ones for ever, as the core has it.
    let waitNanoseconds: UInt64

    /// Drops the event at once, counted as ``DropReason/full``.
    public static let dropNewest = OverflowPolicy(waitNanoseconds: 0)

    /// Blocks the thread until there is room. Events are dropped only if the log can't grow, as
    /// ``DropReason/storage``.
    public static let block = OverflowPolicy(waitNanoseconds: .max)

    /// Blocks the thread until there is room, at most for the time given; then drops the event.
    public static func block(upTo time: Duration) -> OverflowPolicy {
      OverflowPolicy(waitNanoseconds: time.wholeNanoseconds)
    }
  }

  /// Where the time of an event comes from.
  public enum ClockSource: Hashable, Sendable, CaseIterable {
    /// The processor's counter where it can be trusted, otherwise ``monotonic``.
    case automatic
    /// The processor's counter, calibrated against the wall clock. Opening fails where there is none to be trusted.
    case counter
    /// The kernel's monotonic clock: more than twice what reading the counter takes.
    case monotonic
    /// The kernel's coarse clock, with a resolution of 1 to 4 ms.
    case coarse
  }
}

extension Duration {
  /// In nanoseconds, 0 if negative; what 64 bits can't hold is for ever.
  var wholeNanoseconds: UInt64 {
    guard self > .zero else { return 0 }
    let (seconds, attoseconds) = components
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = product.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
    return overflow || carry ? .max : sum
  }
}

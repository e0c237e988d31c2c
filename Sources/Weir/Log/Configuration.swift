// Configuration: the options for opening a log.

public import Logging

extension Tracker {
  /// The options for opening a log. The defaults suit a server with up to 14 busy threads.
  ///
  /// ```swift
  /// var configuration = Tracker.Configuration()
  /// configuration.laneCount = 66
  /// configuration.whenFull = .block(upTo: .milliseconds(5))
  /// let tracker = try Tracker(directory: "/var/lib/shop/events", configuration: configuration)
  /// ```
  public struct Configuration: Sendable {
    /// The number of lanes, spare lanes included. Each thread that captures takes a lane. Default 16; range 2–256.
    public var laneCount: Int

    /// The number of spare lanes among ``laneCount``. A spare lane is lent to a thread without a lane, for one capture.
    /// Default 2; range 1 to ``laneCount`` - 1.
    public var spareLanes: Int

    /// The size of a lane, in bytes. A power of two, and larger than the largest event. Default 1 MiB.
    public var laneBytes: Int

    /// The maximum memory, in bytes, that captures take beyond the lanes while the drainer stands still, for instance
    /// because the disk hangs. A thread whose lane is full continues in an overflow lane of ``laneBytes``. Once the
    /// drainer continues, the memory is given back. What was accepted survives the death of the process, as in any
    /// lane.
    ///
    /// Default 128 MiB: 9 s of 100,000 events a second of 100 bytes. 0: captures on a full lane do what ``whenFull``
    /// says at once. There are at most 256 lanes in all. The memory is the ring's: page cache or, with
    /// ``ringDirectory`` on a tmpfs, part of that. A memory limit of the process's container must have room for it. A
    /// ring on a frozen file system can't take events, whatever this is: see ``ringDirectory``.
    public var overflowBytes: Int

    /// The size of a segment file while it is being filled, in bytes. The first segment of an opening has 1 MiB, each
    /// further segment twice the size of the one before, up to this size. Default 8 MiB; range 1 MiB–1 GiB.
    public var segmentBytes: Int

    /// The maximum size of an event, in bytes of encoded fields and bound scope. Default 68 KiB; range 64 bytes–1 MiB.
    public var maximumEventBytes: Int

    /// The maximum delay before a captured event is readable in the log. Default 20 ms; range 50 µs–10 s. Half of the
    /// interval of ``durability`` counts if that is less.
    public var drainInterval: Duration

    /// What a capture does when its lane is full. Default ``Tracker/OverflowPolicy/dropNewest``.
    public var whenFull: OverflowPolicy

    /// What of the log survives a power cut. Default ``Tracker/Durability/processCrash``.
    public var durability: Durability

    /// The maximum disk space of the log, in bytes, or `nil` for no limit (the default). Holds at every moment, for all
    /// files except those in the directories `cursors`, `violations`, `attempts` and `dead-letters`.
    ///
    /// The minimum is the ring, three segments (four with ``batchThreads``) and a little more. If the limit is too low,
    /// opening throws `invalid`, and the error gives the minimum.
    public var byteLimit: Int?

    /// What happens at ``byteLimit``. Default ``Tracker/ByteLimitPolicy/refuse``. Any other policy requires a
    /// ``byteLimit``.
    public var atByteLimit: ByteLimitPolicy

    /// How long events are kept. Default ``Tracker/Retention/all``.
    public var retention: Retention

    /// Whether sealed segments are removed once every provider has settled all of their events. See `Dispatcher`.
    /// Such events don't count as lost. Like ``retention``, this removes whole segments, and the last sealed segment
    /// stays. Default `false`: delivered events stay until retention removes them.
    public var removeDelivered: Bool

    /// The number of threads that turn sealed segments into batch segments. A batch segment is an LZ4 file, half to a
    /// fifth as large, which readers and the `lz4` tool read. Default 0; at most 64.
    ///
    /// The threads run at low priority, never as a part of a capture, and also convert segments of earlier openings.
    /// One thread is enough for 200 MB/s. Closing waits only for the writes in progress;
    /// ``LogDirectory/batch(threads:onProgress:)`` converts the remaining segments. A damaged segment stays as it is. A
    /// working thread takes some 3 MiB of memory. ``Counters/batched`` counts the segments.
    public var batchThreads: Int

    /// The source of the events' times. Default ``Tracker/ClockSource/automatic``.
    public var clock: ClockSource

    /// Whether to create the directory, with mode 0700, if it is missing. Default `true`.
    public var createDirectory: Bool

    /// The directory of the ring, as an absolute or relative path, or `nil` to keep the ring beside the segments (the
    /// default).
    ///
    /// With a ring on tmpfs (a directory of the program's own, such as `/dev/shm/shop`), a capture never waits for the
    /// writeback of a page. Captured events survive the death of the process as before, but events that are not yet in
    /// a segment don't survive a restart of the machine. The next opening reports them as
    /// ``RecoveryReport/ringVanished``.
    ///
    /// A file in the log's directory names the ring's place, so readers and later openings find the ring whatever this
    /// option says. Closing removes the ring's file. If ``createDirectory`` is set, a missing directory is created with
    /// mode 0700. A directory that is writable by everyone, or that belongs to another user, is refused as `unsafe`.
    public var ringDirectory: String?

    /// The global fields of every event, by default none. ``Tracker/setGlobals(_:)`` changes them later.
    public var globals = GlobalFields()

    /// The sampling rules, by default none. The first rule that matches an event applies.
    public var sampling: [SamplingRule] = []

    /// The logger for recoveries, refused event types and refused captures, or `nil` to log nothing (the default).
    /// Captures in steady state log nothing.
    ///
    /// Refused captures cause a warning with their number: when a reason (`full`, `no_lane`, `too_large`, `storage`,
    /// `invalid`) first occurs, and then at most every 10 s for each reason. The draining thread finds the refusals, so
    /// while the disk is blocked, the warning is delayed. ``Tracker/counters`` are not delayed.
    public var logger: Logger?

    /// Whether the log starts no thread. Set by `SideLog` alone.
    var isThreadless = false

    /// For tests: the clock of the warnings about refused captures.
    var refusalClock: any Clock<Duration> = ContinuousClock()

    /// Creates a configuration with the default values.
    public init() {
      self.init(core: CoreOptions.defaults())
    }

    init(core: CoreOptions) {
      laneCount = core.laneCount
      spareLanes = core.spareLanes
      laneBytes = core.laneBytes
      overflowBytes = core.overflowBytes
      segmentBytes = core.segmentBytes
      maximumEventBytes = core.maximumEventBytes
      drainInterval = core.drainInterval
      whenFull = core.whenFull
      durability = .processCrash
      byteLimit = nil
      atByteLimit = .refuse
      retention = .all
      removeDelivered = false
      batchThreads = 0
      clock = .automatic
      createDirectory = true
      ringDirectory = nil
      logger = Logger(label: "weir")
    }

    var core: CoreOptions {
      CoreOptions(
        laneCount: laneCount, spareLanes: spareLanes, laneBytes: laneBytes, overflowBytes: overflowBytes,
        segmentBytes: segmentBytes, maximumEventBytes: maximumEventBytes, drainInterval: drainInterval,
        whenFull: whenFull, clock: clock, createsDirectory: createDirectory,
        ringDirectory: ringDirectory, durability: durability, byteLimit: byteLimit, atByteLimit: atByteLimit,
        retention: retention, batchThreads: batchThreads, removeDelivered: removeDelivered, isThreadless: isThreadless)
    }
  }

  /// What a capture does when its lane is full because the log can't keep up.
  public struct OverflowPolicy: Hashable, Sendable {
    /// The time to wait, in nanoseconds; all bits set means forever, as in the core.
    let waitNanoseconds: UInt64

    /// Whether the oldest events are overwritten.
    var overwrites = false

    /// Drops the event. Counted as ``DropReason/full``.
    ///
    /// Before the capture returns, other threads may run (`sched_yield`), so that threads at full speed do not keep the
    /// processor from the thread that empties the lane. While that thread stands still, the capture returns at once.
    public static let dropNewest = OverflowPolicy(waitNanoseconds: 0)

    /// Overwrites the oldest events of the lane that are not yet in the log, a thirty-second of the lane at a time.
    /// ``Counters/overwritten`` counts these events, and a `weir.gap` event takes their place in the log.
    ///
    /// While the drainer copies from the lane, the capture waits, for at most a millisecond. Then the event is dropped
    /// as ``DropReason/full``.
    public static let dropOldest = OverflowPolicy(waitNanoseconds: 0, overwrites: true)

    /// Blocks the thread until there is room. An event is dropped only if the log can't grow, as
    /// ``DropReason/storage``.
    public static let block = OverflowPolicy(waitNanoseconds: .max)

    /// Blocks the thread until there is room, for at most `time`, and then drops the event.
    public static func block(upTo time: Duration) -> OverflowPolicy {
      OverflowPolicy(waitNanoseconds: time.wholeNanoseconds)
    }
  }

  /// The source of the events' times.
  public enum ClockSource: Hashable, Sendable, CaseIterable {
    /// The processor's counter if it can be trusted, otherwise ``monotonic``.
    case automatic
    /// The processor's counter, calibrated against the wall clock. Opening fails if the counter can't be trusted.
    case counter
    /// The kernel's monotonic clock. Takes more than twice as long as the counter.
    case monotonic
    /// The kernel's coarse clock, with a resolution of 1 to 4 ms.
    case coarse
    /// A time in memory that the drainer updates whenever it looks for events, which with this clock is once a
    /// millisecond while events flow. Late by up to that plus the scheduler's delay. Costs one load. Uses ``monotonic``
    /// while no events come.
    case tick
  }
}

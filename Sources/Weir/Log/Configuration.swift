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

    /// The largest event, in bytes of encoded fields and of what is bound around the capture. 68 KiB; 64 bytes to 1
    /// MiB.
    public var maximumEventBytes: Int

    /// The longest time from a capture to its event's being in the log, where readers see it. 1 ms; 50 µs to 10 s.
    public var drainInterval: Duration

    /// What a capture does when its lane is full. ``Tracker/OverflowPolicy/dropNewest``.
    public var whenFull: OverflowPolicy

    /// What a power cut leaves of the log. ``Tracker/Durability/processCrash``.
    public var durability: Durability

    /// What all the log's files may take on the disk, at every moment, but for the directories `cursors`, `violations`,
    /// `attempts` and `dead-letters`; nil for no limit. Nil.
    ///
    /// At least the ring, three segments (four with ``batchThreads``) and a little more; an opening with less throws
    /// `invalid`, with the number.
    public var byteLimit: Int?

    /// What happens at ``byteLimit``, which any other than the default needs. ``Tracker/ByteLimitPolicy/refuse``.
    public var atByteLimit: ByteLimitPolicy

    /// How long events are kept. ``Tracker/Retention/all``.
    public var retention: Retention

    /// Removes sealed segments, as ``retention`` does, once every provider has settled all of their events: see
    /// ``Dispatcher``. What goes so is not counted as lost. Whole segments, the last one always stays. False: what was
    /// delivered stays until retention removes it.
    public var removeDelivered: Bool

    /// Threads that turn sealed segments into batch segments: files in the LZ4 format, a half to a fifth as large, that
    /// readers read like the others and the `lz4` tool reads, too. 0, none; at most 64.
    ///
    /// They work at low priority, off every capture, and take up what earlier openings left as well; one is enough for
    /// 200 megabytes a second. Closing waits for no more than what is being written right now:
    /// ``LogDirectory/batch(threads:onProgress:)`` does the rest. A segment in which something is damaged stays as it
    /// is. While a thread works it takes some 3 MiB of memory. ``Counters/batched`` counts.
    public var batchThreads: Int

    /// Where the time of an event comes from. ``Tracker/ClockSource/automatic``.
    public var clock: ClockSource

    /// Make the directory, with mode 0700, if it is missing. True.
    public var createDirectory: Bool

    /// The directory that the ring goes into: an absolute or relative path, nil for beside the segments.
    ///
    /// On tmpfs (a directory of the program's own, such as `/dev/shm/shop`) no capture ever meets the writeback of its
    /// page. What was captured survives the death of the process as ever, but not a restart of the machine: what was
    /// not in a segment by then is lost, and the next opening reports ``RecoveryReport/ringVanished``. The log's
    /// directory keeps a file that says where the ring is, so readers and later openings find it whatever this says;
    /// closing removes the ring's file. The directory is made, with mode 0700, if it is missing and ``createDirectory``
    /// is set. One that every user may write to, or that belongs to somebody else, is refused as `unsafe`.
    public var ringDirectory: String?

    /// What holds for every event from the opening on. Nothing. ``Tracker/setGlobals(_:)`` changes it later.
    public var globals = GlobalFields()

    /// Which events are captured only in part; the first rule that an event matches counts. None.
    public var sampling: [SamplingRule] = []

    /// Where recoveries, refused event types and refused captures are reported; nil for nowhere. Nothing is logged by a
    /// capture in steady state.
    ///
    /// Captures that are refused are a warning when a reason (`full`, `no_lane`, `too_large`, `storage`, `invalid`) first
    /// occurs, and then at most each 10 s for each reason, with how many there were. The thread that drains finds them,
    /// so on a disk that stands still the warning comes when it goes on; ``Tracker/counters`` do not wait.
    public var logger: Logger?

    /// Tests only: what the warnings about refused captures go by.
    var refusalClock: any Clock<Duration> = ContinuousClock()

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
        laneCount: laneCount, spareLanes: spareLanes, laneBytes: laneBytes, segmentBytes: segmentBytes,
        maximumEventBytes: maximumEventBytes, drainInterval: drainInterval,
        whenFull: whenFull, clock: clock, createsDirectory: createDirectory,
        ringDirectory: ringDirectory, durability: durability, byteLimit: byteLimit, atByteLimit: atByteLimit,
        retention: retention, batchThreads: batchThreads, removeDelivered: removeDelivered)
    }
  }

  /// What a capture does when its lane is full because the log does not keep up.
  public struct OverflowPolicy: Hashable, Sendable {
    /// How long to wait; all ones for ever, as the core has it.
    let waitNanoseconds: UInt64

    /// Whether the oldest events make room then.
    var overwrites = false

    /// Drops the event at once, counted as ``DropReason/full``.
    public static let dropNewest = OverflowPolicy(waitNanoseconds: 0)

    /// Overwrites the oldest events of the lane that are not in the log yet, a thirty-second of the lane at a time:
    /// ``Counters/overwritten`` counts them, and a `weir.gap` event stands in the log where they would have been.
    ///
    /// While the drainer is copying from the lane, the capture waits for that, a millisecond at most; only after that
    /// it is dropped as ``DropReason/full``.
    public static let dropOldest = OverflowPolicy(waitNanoseconds: 0, overwrites: true)

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
    /// A word that the drainer refreshes whenever it looks for events: behind by up to
    /// ``Configuration/drainInterval`` and what the scheduler adds. Costs one load; ``monotonic`` while the drainer
    /// sleeps.
    case tick
  }
}

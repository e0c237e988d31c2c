// Bounds: how much disk space a log may take, and how long events are kept.

extension Tracker {
  /// What happens when the next segment would exceed ``Configuration/byteLimit``.
  public enum ByteLimitPolicy: Hashable, Sendable, CaseIterable {
    /// The log does not grow. Once the lanes are full, events are dropped as ``DropReason/storage``, until retention
    /// has made room, or the log is opened with a higher limit.
    case refuse
    /// The oldest sealed segments are removed. Their undelivered events are counted as ``DropReason/displaced``.
    case dropOldest
  }

  /// How long events are kept. Whole sealed segments are removed, oldest first. The last sealed segment always stays.
  ///
  /// Events that are removed before their delivery are counted as ``DropReason/expired``.
  public struct Retention: Hashable, Sendable {
    /// The age at which sealed segments are removed, counted from the segment's last event; `nil` disables it. Must be
    /// above zero.
    ///
    /// Setting the wall clock does not remove events of the current boot. Older events are removed when one of these is
    /// true: the wall clock has called them too old for an hour (or for this age, if shorter); another boot has called
    /// them too old as well; the log has been known for this age since the machine started.
    public var age: Duration?

    /// The maximum size of the sealed segments, in bytes. The oldest segments beyond it are removed; `nil` disables it.
    /// Must be above zero.
    public var bytes: Int?

    /// Keeps everything. The default.
    public static let all = Retention()

    /// Creates a retention. A segment is removed as soon as either limit is exceeded.
    public init(age: Duration? = nil, bytes: Int? = nil) {
      self.age = age
      self.bytes = bytes
    }
  }
}

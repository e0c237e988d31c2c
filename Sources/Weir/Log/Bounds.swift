// Bounds: how much of the disk a log may take, and how long events are kept.

extension Tracker {
  /// What happens when the next segment would take the log beyond ``Configuration/byteLimit``.
  public enum ByteLimitPolicy: Hashable, Sendable, CaseIterable {
    /// The log does not grow. When the lanes are full, events are dropped as ``DropReason/storage``, until retention
    /// has made room, or the limit is higher at the next opening.
    case refuse
    /// The oldest sealed segments are removed. Their events that had not been delivered are counted as
    /// ``DropReason/displaced``.
    case dropOldest
  }

  /// How long events are kept. Whole sealed segments are removed, the oldest first; the last one always stays.
  ///
  /// Events that go before they were delivered are counted as ``DropReason/expired``.
  public struct Retention: Hashable, Sendable {
    /// Segments that were filled longer ago are removed; nil for none. Above zero.
    ///
    /// What was captured since the machine started is not removed early for a wall clock that is set. What is older is
    /// removed once the wall clock has said for an hour, or in two boots, that it is too old.
    public var age: Duration?

    /// Of the sealed segments, those beyond so many bytes on the disk are removed; nil for none. Above zero.
    public var bytes: Int?

    /// Keeps everything. The default.
    public static let all = Retention()

    /// Keeps what both allow.
    public init(age: Duration? = nil, bytes: Int? = nil) {
      self.age = age
      self.bytes = bytes
    }
  }
}

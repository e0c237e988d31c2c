// BatchProvider: a destination that takes batch segments whole, as the files they are.

public import Weir

/// A sealed part of a log as one file: events that follow on one another, with their definitions, contexts and ids.
///
/// The file is a standard LZ4 frame with an index behind it, as the page FileFormat describes under Batch segment. A
/// segment in which a byte is damaged is a raw file: compressed, it would get checksums that vouch for the damage. So is
/// a segment for whose compression the disk had no room. The content of a segment never changes, so two segments of one
/// ``fileName`` are the same.
public struct BatchSegment: Hashable, Sendable {
  /// The path of the file. The file is there, unchanged, until the call of the provider returns, unless the log's bounds
  /// remove the segment meanwhile.
  public let path: String
  /// The size of the file, in bytes.
  public let byteCount: Int
  /// The id of the log, which no other log has, but for copies of the log's directory.
  public let logID: UInt64
  /// The opening of the log in which the events were captured: `EventID.opening`.
  public let opening: UInt64
  /// The offsets of the segment's events and notices.
  public let offsets: Range<Offset>
  /// The number of events in the segment, without notices.
  public let eventCount: UInt64
  /// Whether the file is an LZ4 frame, and not a raw segment.
  public let isCompressed: Bool

  /// Where the segment belongs below a destination: `LOG/FIRST.weir.lz4`, with the log's id in 16 hexadecimal digits
  /// and the first offset in 20 decimal ones. So names sort by log and by offset, and all segments of a log in one
  /// directory are a log for every reader. Raw segments end in `.weir`.
  public var fileName: String { SegmentFile.name(ofLog: logID) + "/" + name.text }

  package var name: SegmentName { SegmentName(base: offsets.lowerBound, isBatch: isCompressed) }

  init(_ summary: SegmentSummary, at path: String, byteCount: Int, isCompressed: Bool) {
    self.path = path
    self.byteCount = byteCount
    logID = summary.logID
    opening = summary.opening
    offsets = summary.offsets
    eventCount = summary.events
    self.isCompressed = isCompressed
  }
}

/// A destination that takes the log's batch segments whole: a directory, an object store, another Weir. No event is
/// decoded on the way, so this is the fastest way out of a log.
///
/// ```swift
/// try dispatcher.add(batchesTo: BatchDirectoryProvider("/mnt/archive"), options: .asCaptured)
/// ```
///
/// Events arrive as they were captured, under their offsets and ids, sensitive values included. What must be done to
/// each event (redaction, mapper, contract) is for a ``Provider``.
///
/// Segments are delivered at least once, in the order of their offsets, and each again until it is accepted or
/// rejected. After a kill, the most recently accepted segments come again, with the same content. A destination that
/// stores by ``BatchSegment/fileName`` has each event once, if a raw segment and a compressed one of the same first
/// offset replace each other there: a segment that was raw for want of room may come again compressed.
public protocol BatchProvider: Sendable {
  /// The provider's name: letters, digits, `-` and `_`. The name identifies the cursor, so the name must never change.
  var name: String { get }

  /// Called once before all other calls, and again after it threw.
  func setup() async throws

  /// Delivers one segment. ``Verdict/accepted`` only once the segment is stored permanently: the log may remove it
  /// then.
  ///
  /// For ``Verdict/rejected(_:)``, the segment's events go to the provider's dead letters. Throwing an error has the
  /// same effect as ``Verdict/retry(after:)``, except for ``DeliveryStopped``. Never called again before it returns. If
  /// the call takes longer than ``DeliveryOptions/attemptTimeout``, its task is cancelled, and the segment is delivered
  /// again.
  func deliver(_ segment: BatchSegment) async throws -> Verdict

  /// Called once, after all other calls.
  func shutdown() async
}

extension BatchProvider {
  public func setup() async throws {}
  public func shutdown() async {}
}

// LogCollection: a log that is made of parts of other logs.

import CCapture
import CWeir

/// A log whose events come from other logs, in parts, and keep their ids, times and contexts. Only their offsets are new.
/// Every reader of a log reads this one. Belongs to one thread at a time.
package final class LogCollection {
  /// What a segment of a log that collects says of itself.
  package struct Segment: Sendable {
    /// The offsets of the events in this log.
    package var offsets: Range<Offset>
    /// The id of the log that the events come from, and the opening in which they were captured.
    package var logID: UInt64
    package var opening: UInt64
    package var host: String
    /// What the segment has, by lane; the last span is that of the offsets that the events had.
    package var spans: [LaneSpan]
    /// The number of its events, without notices.
    package var events: UInt64
  }

  /// The log's directory, as an absolute path.
  package let directory: String
  private let collection: OpaquePointer

  /// Opens the log, or makes it, and recovers what was left. Throws as ``Tracker/init(directory:configuration:)`` does.
  package init(directory: String, configuration: Tracker.Configuration = .init()) throws(WeirError) {
    let path = absolutePath(directory)
    try checkPath(path)
    var options = try configuration.core.forCore()
    var collection: OpaquePointer?
    try WeirError.check { weir_collection_open(path, &options, &collection, nil, $0) }
    guard let collection else { throw WeirError(.io, "opening \(path) gave no collection", path: path) }
    self.directory = path
    self.collection = collection
  }

  deinit { weir_collection_close(collection) }

  /// Adds a part without the events that are known already, and returns how many events were added. The events are in
  /// the log for its readers, and survive a power cut, once ``commit()`` has returned.
  ///
  /// After an error of this call or of ``commit()``, except `invalid` and `version`, the log must be opened again.
  ///
  /// - Parameters:
  ///   - part: The bytes of the part, which was checked: see ``LogPart/init(checking:)``.
  ///   - host: The host that captured the events, of at most 64 bytes.
  ///   - known: What is known, by lane.
  package func add(_ part: [UInt8], from host: String, without known: [LaneSpan] = []) throws(WeirError) -> UInt64 {
    var error = weir_error()
    var added: UInt64 = 0
    let spans = known.map(\.core)
    let status = part.withUnsafeBufferPointer { bytes in
      weir_collection_add(
        collection, bytes.baseAddress, UInt64(bytes.count), host, spans, UInt32(spans.count), &added, &error)
    }
    guard Int(status) == WEIR_OK else { throw WeirError(status, error) }
    return added
  }

  /// Brings what was added to the disk, and to readers. Returns the offset after the last event.
  package func commit() throws(WeirError) -> Offset {
    var end: Offset = 0
    try WeirError.check { weir_collection_commit(collection, &end, $0) }
    return end
  }

  /// Says that what the segments below an offset tell is kept on the disk by the caller. No other segment is removed,
  /// whatever the bounds say; where `byteLimit` leaves no room, ``add(_:from:without:)`` throws `noSpace`.
  package func covered(below offset: Offset) {
    weir_collection_set_covered(collection, offset)
  }

  /// Says that every event below an offset was delivered. If the configuration removes delivered events, the next
  /// ``commit()`` removes segments.
  package func delivered(below offset: Offset) {
    weir_collection_set_delivered(collection, offset)
  }

  /// Reads of each segment with events at or above an offset what was collected, in order. Reads no event.
  package static func segments(in directory: String, from offset: Offset) throws(WeirError) -> [Segment] {
    try checkPath(directory)
    final class Found {
      var segments: [Segment] = []
    }
    let found = Found()
    try WeirError.check { error in
      weir_collection_read(
        directory, offset,
        { context, collected in
          guard let context, let collected else { return 0 }
          let found = Unmanaged<Found>.fromOpaque(context).takeUnretainedValue()
          if let segment = Segment(collected.pointee) { found.segments.append(segment) }
          return 0
        }, Unmanaged.passUnretained(found).toOpaque(), error)
    }
    return found.segments
  }
}

extension LogCollection.Segment {
  init?(_ core: weir_collected) {
    guard core.first_offset <= core.next_offset, core.from <= core.to, core.to <= 1 << 60 else { return nil }
    offsets = core.first_offset..<core.next_offset
    logID = core.log_id
    opening = core.opening
    host = text(ofCArray: core.host)
    let found = UnsafeBufferPointer(start: core.spans, count: Int(core.span_count))
    events = found.reduce(0) { $0 &+ $1.events }
    spans = found.compactMap { LaneSpan($0) }
    spans.append(LaneSpan(lane: LaneSpan.offsets, positions: core.from << 3..<core.to << 3))
  }
}

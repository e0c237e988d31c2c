// LossAccount: why events are on one side only, as far as the log's own accounts say.

import Weir

/// What a log says about events that are not in it: refused captures, and stretches that are damaged or were removed.
///
/// A loss is a number of events within a stretch of time. An event of the control within this time, of which nothing
/// else is known, is put down to the loss, as long as the loss has events left: to the one that ends first, by which
/// as many events as possible find a loss (earliest deadline first: Jackson 1955).
struct LossAccount {
  /// Events that a log has lost.
  struct Loss: Hashable, Sendable, Codable {
    var reason: String
    /// The times between which the events were captured.
    var from: Int64
    var to: Int64
    /// How many events; `nil` if that is not known.
    var count: UInt64?
    /// The offset of the notice that tells of the loss; `nil` for damage.
    var notice: Offset?
  }

  /// How many events were put down to each loss, by the offset of its notice.
  private(set) var explained: [Offset: UInt64]

  /// The losses that begin later, the next one last.
  private var later: [Loss]
  /// Those that have begun, the one that ends first last.
  private var open: [Loss] = []
  private let tolerance: Int64
  /// The time of the log's first event; `nil` if that explains nothing.
  private let beginning: Int64?
  private let isBeginningRemoved: Bool

  /// `explained` is what was put down to the same losses before.
  init(
    _ losses: [Loss], beginning: Int64?, isBeginningRemoved: Bool, tolerance: Int64,
    explained: [Offset: UInt64] = [:]
  ) {
    let notices = Set(losses.compactMap(\.notice))
    self.explained = explained.filter { notices.contains($0.key) }
    later = losses.map { loss in
      var loss = loss
      if let count = loss.count, let notice = loss.notice { loss.count = count - min(count, explained[notice] ?? 0) }
      return loss
    }.sorted { $0.from > $1.from }
    self.beginning = beginning
    self.isBeginningRemoved = isBeginningRemoved
    self.tolerance = tolerance
  }

  /// The reason why an event of this time is not in the log; `nil` if nothing says so. Ask in the order of time.
  mutating func reason(at time: Int64) -> String? {
    guard time != .min else { return nil }
    let (low, high) = (time.subtractingClamped(tolerance), time.addingClamped(tolerance))
    while let loss = later.last, loss.from <= high {
      later.removeLast()
      open.insert(loss, at: open.partitioningIndex { $0.to <= loss.to })
    }
    while let loss = open.last, loss.to < low || loss.count == 0 { open.removeLast() }
    if let loss = open.last {
      if let count = loss.count { open[open.count - 1].count = count - 1 }
      if let notice = loss.notice { explained[notice, default: 0] += 1 }
      return loss.reason
    }
    // What is behind the log's last event is not explained: Weir may have stopped.
    guard let beginning, high < beginning else { return nil }
    return isBeginningRemoved ? "removed from the log's beginning" : "before the log's first event"
  }
}

extension LossAccount {
  /// What a notice of a log says.
  struct Notice: Hashable, Sendable, Codable {
    var offset: Offset
    var time: Int64
    var opening: UInt64
    var lane: UInt32
    var reason: String
    /// Whether accepted events are lost, and not refused ones.
    var isHole: Bool
    /// How many; `nil` if that is not known.
    var count: UInt64?

    /// `nil` for any other event.
    init?(_ event: StoredEvent) {
      guard event.isNotice, let reason: String = try? event["reason"], let lane: UInt32 = try? event["lane"] else {
        return nil
      }
      isHole = event.name == "weir.hole"
      let count: UInt64?? = try? event[isHole ? "events" : "dropped"]
      (offset, time, opening) = (event.offset, event.time.nanosecondsSince1970, event.id.opening)
      (self.lane, self.reason, self.count) = (lane, reason, count ?? nil)
    }
  }

  /// The losses that the notices of a log tell, in the order of the log.
  ///
  /// A notice counts what was refused in its lane since the notice before for the same reason, or since its opening's
  /// first event: so long the loss lasted.
  static func losses(_ notices: [Notice], openings: [UInt64: Int64]) -> [Loss] {
    struct Source: Hashable {
      var opening: UInt64
      var lane: UInt32
      var reason: String
    }
    var last: [Source: Int64] = [:]
    return notices.map { notice in
      let source = Source(opening: notice.opening, lane: notice.lane, reason: notice.reason)
      defer { last[source] = notice.time }
      let reason = notice.reason
      let first = openings[notice.opening] ?? .min
      var loss = Loss(
        reason: "lost: \(reason)", from: first, to: notice.time, count: notice.count, notice: notice.offset)
      if !notice.isHole {
        loss.reason = reason == "sampled" ? "sampled at the capture" : "refused: \(reason)"
        loss.from = last[source] ?? first
      }
      return loss
    }
  }
}

extension Int64 {
  func subtractingClamped(_ other: Int64) -> Int64 {
    let (value, isOver) = subtractingReportingOverflow(other)
    return isOver ? .min : value
  }

  func addingClamped(_ other: Int64) -> Int64 {
    let (value, isOver) = addingReportingOverflow(other)
    return isOver ? .max : value
  }
}

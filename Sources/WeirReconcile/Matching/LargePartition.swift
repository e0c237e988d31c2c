// LargePartition: a partition that does not fit in memory, because many events have one key.

import Weir

/// A mark of either side.
struct SidedMark: BitwiseCopyable, Sendable {
  var mark: EventMark
  var isHere: UInt64
}

/// Passes the marks of a partition on in pieces, each of which can be matched alone.
///
/// The marks are sorted on the disk by identity and time. A piece ends where another identity begins, or where no time
/// behind is near to one before. Where that never comes, as in a stream of equal events without a pause, a piece is cut
/// at the largest size, and what is near to the cut and has no partner with an equal content goes on into the next
/// piece.
struct LargePartition {
  private let marks: SortedRuns<SidedMark>
  private let way: MatchWay
  private let tolerance: Int64
  /// The size at which a piece ends at the next place where it may.
  private let enough: Int

  /// Sorts the marks of both sides into a file.
  init(
    _ here: SpilledFile<EventMark>, _ there: SpilledFile<EventMark>, by way: MatchWay, tolerance: Int64,
    marksAtOnce: Int, into marks: SortedRuns<SidedMark>
  ) throws(WeirError) {
    self.marks = marks
    self.way = way
    self.tolerance = way == .content ? tolerance : .max
    enough = max(1, marksAtOnce / 4)
    for (file, isHere) in [(here, UInt64(1)), (there, 0)] {
      for first in stride(from: 0, to: file.count, by: enough) {
        let piece = try file.records(first..<min(first + enough, file.count))
        try marks.append(piece.map { SidedMark(mark: $0, isHere: isHere) })
      }
    }
  }

  static func isBefore(by way: MatchWay) -> @Sendable (SidedMark, SidedMark) -> Bool {
    { one, other in
      (one.mark.identity(by: way), one.mark.time, one.isHere, one.mark.place)
        < (other.mark.identity(by: way), other.mark.time, other.isHere, other.mark.place)
    }
  }

  /// Marks of both sides.
  struct Piece {
    var here: [EventMark] = []
    var there: [EventMark] = []
    /// Where the last group was cut; `nil` for a piece that ends with a group.
    var cut: Cut?
  }

  /// A place at which a group was cut.
  struct Cut {
    /// What is behind this time may have partners in the next piece.
    var time: Int64
    /// The number of marks of a side that go on.
    var most: Int

    /// Takes the last marks out, which are in the order of time.
    func hold(_ marks: inout [EventMark]) -> [EventMark] {
      let count = min(most, marks.count - marks.partitioningIndex { $0.time > time })
      defer { marks.removeLast(count) }
      return marks.suffix(count)
    }
  }

  /// Passes pieces to `body`, which returns the marks that go on into the next piece.
  func forEachPiece(_ body: (Piece) throws(WeirError) -> Piece) throws(WeirError) {
    var piece = Piece()
    var last: EventMark?
    try marks.scan { sided throws(WeirError) in
      let count = piece.here.count + piece.there.count
      if let last, count >= enough {
        let isApart = isApart(last, sided.mark)
        if isApart || count >= 2 * enough, last.time != sided.mark.time || isApart {
          if !isApart { piece.cut = Cut(time: last.time.subtractingClamped(tolerance), most: enough / 4) }
          let whole = piece
          piece = Piece()
          piece = try body(whole)
        }
      }
      if sided.isHere == 1 { piece.here.append(sided.mark) } else { piece.there.append(sided.mark) }
      last = sided.mark
    }
    _ = try body(piece)
  }

  private func isApart(_ one: EventMark, _ other: EventMark) -> Bool {
    one.identity(by: way) != other.identity(by: way) || one.time.distanceInTime(to: other.time) > tolerance
  }
}

// Assignment: pairs of two sorted lists of times: as many as possible, and then the nearest.

/// Assigns times to times that are near.
///
/// Of all ways to pair the times of two lists within a tolerance, each time once at most, the one with the most pairs,
/// and among those the one with the smallest sum of distances. On a line the best pairs never cross, so that the answer
/// is a path through a table of both lists, as in the alignment of sequences (Needleman and Wunsch, 1970).
struct Assignment {
  /// Indices here and there.
  private(set) var pairs: [(Int, Int)] = []
  private(set) var leftHere: [Int] = []
  private(set) var leftThere: [Int] = []

  /// The maximum size of a table, in cells of a byte.
  private static let mostCells = 64 << 20

  private enum Step: UInt8 {
    case pair
    case skipHere
    case skipThere
  }

  /// A number of pairs, and their distances in sum.
  private struct Score {
    var pairs = 0
    var distance: Double = 0

    func isBetter(than other: Score) -> Bool {
      pairs > other.pairs || pairs == other.pairs && distance < other.distance
    }
  }

  /// Assigns. Both lists are sorted.
  init(_ here: [Int64], _ there: [Int64], tolerance: Int64) {
    // Times with a pause longer than the tolerance between them have nothing to do with each other.
    var (left, right) = (0, 0)
    while left < here.count || right < there.count {
      var (leftEnd, rightEnd) = (left, right)
      var last: Int64?
      while true {
        let next = [
          leftEnd < here.count ? here[leftEnd] : nil, rightEnd < there.count ? there[rightEnd] : nil,
        ].compactMap(\.self).min()
        guard let next, last.map({ next.distanceInTime(to: $0) <= tolerance }) ?? true else { break }
        if leftEnd < here.count, here[leftEnd] == next { leftEnd += 1 } else { rightEnd += 1 }
        last = next
      }
      assign(here, left..<leftEnd, there, right..<rightEnd, tolerance)
      (left, right) = (leftEnd, rightEnd)
    }
  }

  /// Assigns times of which each is near to the one before.
  private mutating func assign(
    _ here: [Int64], _ left: Range<Int>, _ there: [Int64], _ right: Range<Int>, _ tolerance: Int64
  ) {
    guard !left.isEmpty, !right.isEmpty else {
      leftHere += left
      leftThere += right
      return
    }
    // Where the table is too large, the nearest pairs are looked for closer by. Of the rest as many are paired as can
    // be, the earliest first.
    var near = tolerance
    var band = Band(here[left], there[right], near)
    while band.cells > Self.mostCells, near > 0 {
      near /= 2
      band = Band(here[left], there[right], near)
    }
    guard band.cells <= Self.mostCells else { return assignEarliest(here, Array(left), there, Array(right), tolerance) }
    let (outHere, outThere) = follow(band, here, left.lowerBound, there, right.lowerBound, right.count)
    if near == tolerance {
      leftHere += outHere
      leftThere += outThere
    } else {
      assignEarliest(here, outHere, there, outThere, tolerance)
    }
  }

  /// For each row, which is a time here, the columns that are near: a range whose ends never go back.
  private struct Band {
    private(set) var columns: [Range<Int>] = []
    private(set) var cells = 0

    init(_ here: ArraySlice<Int64>, _ there: ArraySlice<Int64>, _ tolerance: Int64) {
      columns.reserveCapacity(here.count)
      var (first, end) = (there.startIndex, there.startIndex)
      for time in here {
        while first < there.endIndex, there[first] < time.subtractingClamped(tolerance) { first += 1 }
        end = max(end, first)
        while end < there.endIndex, there[end] <= time.addingClamped(tolerance) { end += 1 }
        columns.append(first - there.startIndex..<end - there.startIndex)
        cells += end - first + 1
      }
    }
  }

  /// Pairs along the best path through a band. Returns the indices that are left.
  private mutating func follow(
    _ band: Band, _ here: [Int64], _ left: Int, _ there: [Int64], _ right: Int, _ columns: Int
  ) -> (here: [Int], there: [Int]) {
    let rows = band.columns.count
    var steps = [Step](repeating: .skipHere, count: band.cells)
    var starts = [Int](repeating: 0, count: rows)
    for row in 1..<max(1, rows) { starts[row] = starts[row - 1] + band.columns[row - 1].count + 1 }
    // The scores of the row below, from its first column to the end of its range. Rows go from the end.
    var below: [Score] = []
    var belowFirst = 0
    // A column to the left of the next row's range is near to none of the rows below.
    func after(_ column: Int) -> Score { below.isEmpty ? Score() : below[max(0, column - belowFirst)] }
    for row in stride(from: rows - 1, through: 0, by: -1) {
      let range = band.columns[row]
      var current = [Score](repeating: Score(), count: range.count + 1)
      current[range.count] = after(range.upperBound)
      for column in range.reversed() {
        let place = column - range.lowerBound
        var (best, step) = (after(column), Step.skipHere)
        if current[place + 1].isBetter(than: best) { (best, step) = (current[place + 1], .skipThere) }
        let rest = after(column + 1)
        let distance = here[left + row].distanceInTime(to: there[right + column])
        let paired = Score(pairs: rest.pairs + 1, distance: rest.distance + Double(distance))
        if !best.isBetter(than: paired) { (best, step) = (paired, .pair) }
        current[place] = best
        steps[starts[row] + place] = step
      }
      (below, belowFirst) = (current, range.lowerBound)
    }
    var out: (here: [Int], there: [Int]) = ([], [])
    var (row, column) = (0, 0)
    while row < rows {
      let range = band.columns[row]
      while column < range.lowerBound {
        out.there.append(right + column)
        column += 1
      }
      switch column < range.upperBound ? steps[starts[row] + column - range.lowerBound] : .skipHere {
      case .pair:
        pairs.append((left + row, right + column))
        (row, column) = (row + 1, column + 1)
      case .skipHere:
        out.here.append(left + row)
        row += 1
      case .skipThere:
        out.there.append(right + column)
        column += 1
      }
    }
    return (out.here, out.there + (right + column..<right + columns))
  }

  /// Pairs each time with the earliest one that is near: as many pairs as can be, not the nearest.
  private mutating func assignEarliest(
    _ here: [Int64], _ left: [Int], _ there: [Int64], _ right: [Int], _ tolerance: Int64
  ) {
    var column = 0
    for row in left {
      while column < right.count, there[right[column]] < here[row].subtractingClamped(tolerance) {
        leftThere.append(right[column])
        column += 1
      }
      if column < right.count, there[right[column]] <= here[row].addingClamped(tolerance) {
        pairs.append((row, right[column]))
        column += 1
      } else {
        leftHere.append(row)
      }
    }
    leftThere += right[column...]
  }
}

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

  /// The maximum size of a table, in cells. Beyond, paths are looked for in a band around the diagonal: the pairs are
  /// still within the tolerance, but there might be a better choice.
  private static let mostCells = 16 << 20

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

  private mutating func assign(
    _ here: [Int64], _ left: Range<Int>, _ there: [Int64], _ right: Range<Int>, _ tolerance: Int64
  ) {
    guard !left.isEmpty, !right.isEmpty else {
      leftHere += left
      leftThere += right
      return
    }
    let (rows, columns) = (left.count, right.count)
    let width = min(columns, max(64, Self.mostCells / rows))
    // The first column of each row's band: around the diagonal.
    func start(_ row: Int) -> Int { min(columns - width, max(0, row * columns / rows - width / 2)) }
    var steps = [Step](repeating: .skipHere, count: rows * (width + 1))
    // The scores of the row below, by column; rows and columns are gone through from the end.
    var below = [Score](repeating: Score(), count: columns + 1)
    var current = below
    for row in stride(from: rows - 1, through: 0, by: -1) {
      let first = start(row)
      let last = first + width
      // Outside of the band nothing here is paired.
      for column in last...columns { current[column] = below[column] }
      for column in stride(from: last - 1, through: first, by: -1) {
        var (best, step) = (below[column], Step.skipHere)
        if current[column + 1].isBetter(than: best) { (best, step) = (current[column + 1], .skipThere) }
        let distance = here[left.lowerBound + row].distanceInTime(to: there[right.lowerBound + column])
        if distance <= tolerance {
          let after = below[column + 1]
          let paired = Score(pairs: after.pairs + 1, distance: after.distance + Double(distance))
          if !best.isBetter(than: paired) { (best, step) = (paired, .pair) }
        }
        current[column] = best
        steps[row * (width + 1) + column - first] = step
      }
      // To the left of the band one can only go on to the band.
      for column in stride(from: first - 1, through: 0, by: -1) { current[column] = current[first] }
      swap(&below, &current)
    }
    follow(steps, rows, columns, width, start, left.lowerBound, right.lowerBound)
  }

  private mutating func follow(
    _ steps: [Step], _ rows: Int, _ columns: Int, _ width: Int, _ start: (Int) -> Int, _ left: Int, _ right: Int
  ) {
    var (row, column) = (0, 0)
    while row < rows {
      let first = start(row)
      if column < first {
        leftThere.append(right + column)
        column += 1
        continue
      }
      let step = column < first + width ? steps[row * (width + 1) + column - first] : .skipHere
      switch step {
      case .pair:
        pairs.append((left + row, right + column))
        (row, column) = (row + 1, column + 1)
      case .skipHere:
        leftHere.append(left + row)
        row += 1
      case .skipThere:
        leftThere.append(right + column)
        column += 1
      }
    }
    while column < columns {
      leftThere.append(right + column)
      column += 1
    }
  }
}

// EventOrder: how many events of a sequence are out of order.

enum EventOrder {
  /// Returns the indices of the fewest elements without which the others rise: those outside of a longest increasing
  /// subsequence (Fredman 1975). Takes time in proportion to n log n.
  static func outOfOrder(_ places: [UInt64]) -> [Int] {
    if zip(places, places.dropFirst()).allSatisfy({ $0 < $1 }) { return [] }
    // For each length, the index of the smallest last element of a rising subsequence of this length.
    var ends: [Int] = []
    var before = [Int](repeating: -1, count: places.count)
    for index in places.indices {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if places[ends[middle]] < places[index] { low = middle + 1 } else { high = middle }
      }
      if low > 0 { before[index] = ends[low - 1] }
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var isIn = [Bool](repeating: false, count: places.count)
    var index = ends.last ?? -1
    while index >= 0 {
      isIn[index] = true
      index = before[index]
    }
    return places.indices.filter { !isIn[$0] }
  }
}

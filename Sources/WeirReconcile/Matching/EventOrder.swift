// EventOrder: how many events of a sequence are out of order.

import Weir

enum EventOrder {
  /// Returns the indices of the fewest elements without which the others rise: those outside of a longest increasing
  /// subsequence (Fredman 1975). Takes time in proportion to n log n.
  static func outOfOrder(_ places: [UInt64]) -> [Int] {
    if zip(places, places.dropFirst()).allSatisfy({ $0 < $1 }) { return [] }
    // For each length, the index of the smallest last element of a rising subsequence of this length.
    var ends: [Int] = []
    var before = [Int](repeating: -1, count: places.count)
    for index in places.indices {
      let length = ends.partitioningIndex { places[$0] >= places[index] }
      if length > 0 { before[index] = ends[length - 1] }
      if length == ends.count { ends.append(index) } else { ends[length] = index }
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

// PartitioningIndex: a binary search.

extension RandomAccessCollection {
  /// Returns the index of the first element for which `belongsBehind` is true, or the end. All elements for which it is
  /// false come before those for which it is true.
  @inlinable
  package func partitioningIndex<Failure: Error>(
    where belongsBehind: (Element) throws(Failure) -> Bool
  ) throws(Failure) -> Index {
    var low = startIndex
    var count = count
    while count > 0 {
      let half = count / 2
      let middle = index(low, offsetBy: half)
      if try belongsBehind(self[middle]) {
        count = half
      } else {
        low = index(after: middle)
        count -= half + 1
      }
    }
    return low
  }
}

// SortedRuns: any number of records in order, in little memory.

import Synchronization
import Weir

/// Records on the disk in sorted runs, which are read as one sorted sequence: an external merge sort (Knuth, The Art of
/// Computer Programming 3, 1998, 5.4.1).
///
/// **Threads.** Any thread may append. Read after the last append.
final class SortedRuns<Record: BitwiseCopyable & Sendable>: Sendable {
  /// The memory of one reading, in bytes.
  private static var bufferBytes: Int { 16 << 20 }

  private let file: SpilledFile<Record>
  private let isBefore: @Sendable (Record, Record) -> Bool
  private let stored = Mutex<[Range<Int>]>([])

  init(
    _ name: String, in directory: Descriptor, _ calls: SystemCalls,
    by isBefore: @escaping @Sendable (Record, Record) -> Bool
  ) {
    file = SpilledFile(name, in: directory, calls)
    self.isBefore = isBefore
  }

  var count: Int { file.count }

  /// Sorts the records, and appends them as a run.
  func append(_ records: [Record]) throws(WeirError) {
    guard !records.isEmpty else { return }
    let run = try file.append(records.sorted(by: isBefore))
    stored.withLock { $0.append(run) }
  }

  /// Where the runs are in the file.
  var runs: [Range<Int>] { stored.withLock { $0 } }

  /// Takes the runs that another process left in the file.
  func resume(_ runs: [Range<Int>]) {
    stored.withLock { $0 = runs }
    file.resume(runs.map(\.upperBound).max() ?? 0)
  }

  /// The first records, and no more than so many.
  func prefix(_ most: Int) throws(WeirError) -> [Record] {
    var first: [Record] = []
    for run in runs { first += try file.records(run.prefix(most)) }
    return Array(first.sorted(by: isBefore).prefix(most))
  }

  /// Passes all records to `body`, in order, or in the opposite order.
  func scan(isReversed: Bool = false, _ body: (Record) throws(WeirError) -> Void) throws(WeirError) {
    let runs = runs
    let size = max(16, Self.bufferBytes / MemoryLayout<Record>.stride / max(1, runs.count))
    var heads: [Head] = []
    for run in runs {
      var head = Head(rest: run, isReversed: isReversed, size: size)
      if try head.fill(from: file) { heads.append(head) }
    }
    // A heap of the runs by their next records.
    func isNext(_ one: Int, _ other: Int) -> Bool {
      isReversed ? isBefore(heads[other].next, heads[one].next) : isBefore(heads[one].next, heads[other].next)
    }
    func sink(_ start: Int) {
      var parent = start
      while true {
        var child = 2 * parent + 1
        guard child < heads.count else { return }
        if child + 1 < heads.count, isNext(child + 1, child) { child += 1 }
        guard isNext(child, parent) else { return }
        heads.swapAt(child, parent)
        parent = child
      }
    }
    for parent in stride(from: heads.count / 2 - 1, through: 0, by: -1) { sink(parent) }
    while !heads.isEmpty {
      try body(heads[0].next)
      if try !heads[0].advance(in: file) {
        let last = heads.removeLast()
        if heads.isEmpty { return }
        heads[0] = last
      }
      sink(0)
    }
  }

  /// The next records of one run.
  private struct Head {
    var rest: Range<Int>
    let isReversed: Bool
    let size: Int
    private var records: [Record] = []
    private var at = 0

    init(rest: Range<Int>, isReversed: Bool, size: Int) {
      self.rest = rest
      self.isReversed = isReversed
      self.size = size
    }

    var next: Record { records[isReversed ? records.count - 1 - at : at] }

    /// Returns whether there is a next record.
    mutating func advance(in file: SpilledFile<Record>) throws(WeirError) -> Bool {
      at += 1
      return if at < records.count { true } else { try fill(from: file) }
    }

    mutating func fill(from file: SpilledFile<Record>) throws(WeirError) -> Bool {
      let range = isReversed ? rest.suffix(size) : rest.prefix(size)
      rest = isReversed ? rest.lowerBound..<range.lowerBound : range.upperBound..<rest.upperBound
      records = try file.records(range)
      at = 0
      return !records.isEmpty
    }
  }
}

// SpilledRecords: records in partitions by a hash, so that any number fits in little memory.

import Weir

/// Records in partitions, each in a file of its own.
struct SpilledRecords<Record: BitwiseCopyable & Sendable>: Sendable {
  let files: [SpilledFile<Record>]

  init(_ name: String, in directory: Descriptor, count: Int, _ calls: SystemCalls) {
    files = (0..<count).map { SpilledFile("\(name).\($0)", in: directory, calls) }
  }

  var count: Int { files.reduce(0) { $0 + $1.count } }

  /// The partition of a hash. Not by the hash's lowest bits alone, by which others may have chosen the records.
  func index(of hash: UInt64) -> Int { Int((hash >> 32).multipliedReportingOverflow(by: UInt64(files.count)).0 >> 32) }
}

/// What one thread writes, collected so that each write has many records.
struct SpillWriter<Record: BitwiseCopyable & Sendable> {
  private let spilled: SpilledRecords<Record>
  private var waiting: [[Record]]
  private static var most: Int { (32 << 10) / MemoryLayout<Record>.stride }

  init(_ spilled: SpilledRecords<Record>) {
    self.spilled = spilled
    waiting = Array(repeating: [], count: spilled.files.count)
  }

  mutating func append(_ record: Record, by hash: UInt64) throws(WeirError) {
    let index = spilled.index(of: hash)
    waiting[index].append(record)
    guard waiting[index].count >= Self.most else { return }
    try spilled.files[index].append(waiting[index])
    waiting[index].removeAll(keepingCapacity: true)
  }

  /// Writes what waits. Call it at the end.
  mutating func finish() throws(WeirError) {
    for index in waiting.indices {
      try spilled.files[index].append(waiting[index])
      waiting[index] = []
    }
  }
}

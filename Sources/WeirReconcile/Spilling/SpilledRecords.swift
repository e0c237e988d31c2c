// SpilledRecords: records of one size in files, apart by a hash, so that any number fits in little memory.

import Synchronization
import Weir

/// One file of records. Grows at its end.
final class SpilledFile<Record: BitwiseCopyable & Sendable>: Sendable {
  private struct State {
    var file: Descriptor?
    var byteCount = 0
  }

  private let calls: SystemCalls
  private let directory: Descriptor
  private let name: String
  private let state = Mutex(State())

  init(_ name: String, in directory: Descriptor, _ calls: SystemCalls) {
    self.name = name
    self.directory = directory
    self.calls = calls
  }

  /// The number of records.
  var count: Int { state.withLock { $0.byteCount } / MemoryLayout<Record>.stride }

  /// Appends records. Any thread may call it. Throws `full` or `io`.
  func append(_ records: [Record]) throws(WeirError) {
    guard !records.isEmpty else { return }
    let bytes = records.withUnsafeBytes { Array($0) }
    try state.withLock { state throws(WeirError) in
      if state.file == nil { state.file = try calls.create(name, in: directory) }
      guard let file = state.file else { return }
      try calls.write(file, bytes, at: state.byteCount)
      state.byteCount += bytes.count
    }
  }

  /// Reads some of the records.
  func records(_ range: Range<Int>) throws(WeirError) -> [Record] {
    let size = MemoryLayout<Record>.stride
    return try state.withLock { state throws(WeirError) in
      guard let file = state.file, !range.isEmpty else { return [] }
      let bytes = try calls.read(file, range.count * size, at: range.lowerBound * size)
      return bytes.withUnsafeBytes { Array($0.bindMemory(to: Record.self)) }
    }
  }

  /// Reads all records.
  func records() throws(WeirError) -> [Record] { try records(0..<count) }

  /// Removes the file: its records are not needed any more.
  func remove() throws(WeirError) {
    try state.withLock { state throws(WeirError) in
      if state.file != nil { try calls.unlink(name, in: directory) }
      state = State()
    }
  }
}

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

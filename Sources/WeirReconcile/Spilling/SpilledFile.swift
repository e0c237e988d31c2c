// SpilledFile: records of one size on the disk.

import Synchronization
import Weir

/// One file of records. Grows at its end. The file is open only while it is read or written: there are thousands.
final class SpilledFile<Record: BitwiseCopyable & Sendable>: Sendable {
  private let calls: SystemCalls
  private let directory: Descriptor
  let name: String
  private let written = Mutex(0)

  init(_ name: String, in directory: Descriptor, _ calls: SystemCalls) {
    self.name = name
    self.directory = directory
    self.calls = calls
  }

  /// The number of records.
  var count: Int { written.withLock { $0 } }

  /// Appends records, and returns where they are. Any thread may call it. Throws `full` or `io`.
  @discardableResult
  func append(_ records: [Record]) throws(WeirError) -> Range<Int> {
    try written.withLock { written throws(WeirError) in
      let first = written
      guard !records.isEmpty else { return first..<first }
      let file =
        if let file = try calls.open(name, in: directory) { file } else { try calls.create(name, in: directory) }
      try calls.write(file, records, at: first * MemoryLayout<Record>.stride)
      written += records.count
      return first..<written
    }
  }

  /// Takes the first records that another process left in the file, and no others.
  func resume(_ count: Int) { written.withLock { $0 = count } }

  /// Reads some of the records.
  func records(_ range: Range<Int>) throws(WeirError) -> [Record] {
    guard !range.isEmpty, let file = try calls.open(name, in: directory, forWriting: false) else { return [] }
    return try calls.values(file, range.count, at: range.lowerBound * MemoryLayout<Record>.stride)
  }

  /// Reads all records.
  func records() throws(WeirError) -> [Record] { try records(0..<count) }
}

// JSONLinesSubject.swift: what a program does that has nothing: JSONEncoder, and a line a write to a FileHandle.
import Foundation
import Synchronization

/// An encoder a thread, one file handle under a lock, one write(2) an event: it survives a kill, as the kernel has it.
final class JSONLinesSubject: Subject {
  private let path: String
  private let handle: Mutex<FileHandle>
  private let texts: [String]

  init(_ setup: Setup) throws {
    path = setup.directory + "/events.jsonl"
    guard FileManager.default.createFile(atPath: path, contents: nil), let handle = FileHandle(forWritingAtPath: path)
    else { throw SubjectFailure(description: "could not make \(path)") }
    self.handle = Mutex(handle)
    texts = setup.texts
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    let coupon = texts[thread]
    let encoder = JSONEncoder()
    var accepted = 0
    for order in first..<first + UInt64(count) {
      let line = Line(
        time: Date().timeIntervalSince1970, event: "checkout.completed", order: order, total: 19.99, items: 3,
        coupon: coupon)
      guard var data = try? encoder.encode(line) else { continue }
      data.append(10)
      if handle.withLock({ (try? $0.write(contentsOf: data)) != nil }) { accepted += 1 }
    }
    return accepted
  }

  func settle() {}

  func finish() throws -> Delivery {
    try handle.withLock { try $0.close() }
    return Delivery(delivered: try countLines(path))
  }

  private struct Line: Encodable {
    var time: Double
    var event: String
    var order: UInt64
    var total: Double
    var items: Int32
    var coupon: String
  }
}

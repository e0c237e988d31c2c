// SwiftLogSubject.swift: swift-log with a handler that writes lines to a file, as a server does that logs its events.
import CaptureSubjects
import Foundation
import Logging

/// `logger.info("checkout.completed", metadata: …)`; the lines go through a locked stdio buffer of 64 KiB. A kill loses
/// what is in the buffer.
final class SwiftLogSubject: Subject {
  private let file: LineFile
  private let logger: Logger
  private let texts: [String]

  init(_ setup: Setup) throws {
    let file = try LineFile(path: setup.directory + "/swift-log.log")
    self.file = file
    logger = Logger(label: "bench") { _ in FileLogHandler(file: file) }
    texts = setup.texts
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    let coupon = texts[thread]
    for order in first..<first + UInt64(count) {
      logger.info(
        "checkout.completed",
        metadata: ["order": "\(order)", "total": "\(19.99)", "items": "\(3)", "coupon": "\(coupon)"])
    }
    return count
  }

  func settle() {}

  func finish() throws -> Delivery {
    file.close()
    return Delivery(delivered: try countLines(file.path))
  }
}

/// Formats a line as swift-log's own stream handler does: time, level, label, metadata, message.
private struct FileLogHandler: LogHandler {
  let file: LineFile
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  init(file: LineFile) { self.file = file }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var line = timeStamp()
    line += " \(event.level) bench:"
    for (key, value) in (event.metadata ?? [:]).sorted(by: { $0.key < $1.key }) { line += " \(key)=\(value)" }
    line += " \(event.message)\n"
    file.write(line)
  }

  private func timeStamp() -> String {
    var now = time(nil)
    var parts = tm()
    localtime_r(&now, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      strftime(buffer.baseAddress!, 64, "%Y-%m-%dT%H:%M:%S%z", &parts)
      return String(cString: buffer.baseAddress!)
    }
  }
}

/// A stdio stream, which locks itself.
private final class LineFile: @unchecked Sendable {
  let path: String
  private let stream: UnsafeMutablePointer<FILE>

  init(path: String) throws {
    self.path = path
    guard let stream = fopen(path, "w") else { throw SubjectFailure(description: "could not make \(path)") }
    self.stream = stream
    setvbuf(stream, nil, _IOFBF, 65536)
  }

  func write(_ line: String) {
    var line = line
    line.withUTF8 { _ = fwrite($0.baseAddress, 1, $0.count, stream) }
  }

  func close() { fclose(stream) }
}

/// The lines of a file.
func countLines(_ path: String) throws -> Int {
  let data = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
  return data.withUnsafeBytes { bytes in bytes.reduce(into: 0) { count, byte in if byte == 10 { count += 1 } } }
}

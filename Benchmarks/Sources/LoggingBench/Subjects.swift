// Subjects.swift: the log handlers that are measured.

import Foundation
import Logging
import Weir
import WeirLogging

/// A way to log a line.
struct Subject {
  let name: String
  let log: (Int) -> Void
}

func subjects(_ tracker: Tracker, _ file: LineFile) -> [Subject] {
  // Not constants, and different from line to line, as in a program.
  let orders = (0..<64).map { "order-\(10 + $0 % 90)" }
  let users = (0..<64).map { "user-\(1_000_000 + $0)" }
  let requests = (0..<64).map { _ in "req-\(UUID().uuidString.prefix(20))" }

  func line(_ logger: Logger) -> (Int) -> Void {
    { number in
      let index = number & 63
      logger.info(
        "order was paid",
        metadata: [
          "order": .string(orders[index]), "user": .string(users[index]), "request": .string(requests[index]),
        ])
    }
  }
  let nothing = Logger(label: "shop") { _ in NothingHandler() }
  let weir = Logger(label: "shop") { WeirLogHandler(label: $0, tracker: tracker) }
  let stream = Logger(label: "shop") { StreamLogHandler(label: $0, stream: file, metadataProvider: nil) }
  var inheriting = weir
  inheriting[metadataKey: "process"] = "shop-7"
  inheriting[metadataKey: "region"] = "eu-central"
  // The same dictionary for each line: what is left is the handler's own.
  let same: Logger.Metadata = [
    "order": .string(orders[0]), "user": .string(users[0]), "request": .string(requests[0]),
  ]
  return [
    Subject(name: "a handler that does nothing, three values", log: line(nothing)),
    Subject(name: "WeirLogHandler, three values", log: line(weir)),
    Subject(name: "StreamLogHandler to a buffered file, three values", log: line(stream)),
    Subject(name: "a handler that does nothing, one dictionary for all lines") { _ in
      nothing.info("order was paid", metadata: same)
    },
    Subject(name: "WeirLogHandler, one dictionary for all lines") { _ in weir.info("order was paid", metadata: same) },
    Subject(name: "WeirLogHandler, no metadata") { _ in weir.info("order was paid") },
    Subject(name: "WeirLogHandler, three values and two of the logger", log: line(inheriting)),
    Subject(name: "WeirLogHandler, three numbers") { number in
      weir.info(
        "order was paid",
        metadata: [
          "order": .stringConvertible(number), "total": .stringConvertible(19.90), "items": .stringConvertible(3),
        ])
    },
    Subject(name: "WeirLogHandler, three values, one of them sensitive") { number in
      let index = number & 63
      weir.info(
        "order was paid",
        metadata: [
          "order": .string(orders[index]), "user": "\(users[index], sensitivity: .sensitive)",
          "request": .string(requests[index]),
        ])
    },
    Subject(name: "WeirLogHandler, a disabled level, three values") { number in
      let index = number & 63
      weir.debug(
        "order was paid",
        metadata: [
          "order": .string(orders[index]), "user": .string(users[index]), "request": .string(requests[index]),
        ])
    },
  ]
}

private struct NothingHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info
  var metadataProvider: Logger.MetadataProvider?

  subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {}
}

/// A stdio stream with a buffer that holds a burst. It locks itself.
final class LineFile: TextOutputStream, @unchecked Sendable {
  private let stream: UnsafeMutablePointer<FILE>

  init(path: String) throws {
    guard let stream = fopen(path, "w") else { throw CocoaError(.fileNoSuchFile) }
    self.stream = stream
    setvbuf(stream, nil, _IOFBF, 1 << 20)
  }

  func write(_ line: String) {
    var line = line
    line.withUTF8 { _ = fwrite($0.baseAddress, 1, $0.count, stream) }
  }

  func flush() {
    fflush(stream)
    rewind(stream)
  }
}

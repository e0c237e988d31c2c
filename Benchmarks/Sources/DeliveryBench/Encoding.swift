// Encoding.swift: how fast events become JSON on one core, beside a copy of the same bytes; and how fast they are read.
import Weir
import WeirDelivery

func measureEncoding(_ log: SampleLog, rounds: Int) throws -> [Row] {
  var encoding = Row(
    name: "encode as JSON, one core", seconds: [], limitName: "copy of the same bytes", events: log.count,
    bytes: log.json.count)
  var reading = Row(name: "read and decode, one core", seconds: [], events: log.count, bytes: log.json.count)
  // As the provider does it: into a buffer that is written when it has a mebibyte, and used again.
  let pieceBytes = 1 << 20
  var buffer: [UInt8] = []
  buffer.reserveCapacity(2 * pieceBytes)
  for _ in 0..<rounds {
    var made = 0
    encoding.seconds.append(
      seconds {
        for event in log.events {
          EventJSON().append(event, to: &buffer)
          buffer.append(UInt8(ascii: "\n"))
          if buffer.count >= pieceBytes {
            made += buffer.count
            buffer.removeAll(keepingCapacity: true)
          }
        }
      })
    made += buffer.count
    buffer.removeAll(keepingCapacity: true)
    guard made == log.json.count else { throw BenchFailure(description: "\(made) bytes of JSON, not as before") }
    encoding.limit.append(
      seconds {
        for start in stride(from: 0, to: log.json.count, by: pieceBytes) {
          buffer.append(contentsOf: log.json[start..<min(start + pieceBytes, log.json.count)])
          buffer.removeAll(keepingCapacity: true)
        }
      })
    reading.seconds.append(
      try seconds {
        let reader = try EventReader(directory: log.directory)
        var count = 0
        while let event = try reader.next() { if !event.isNotice { count += 1 } }
        guard count == log.count else { throw BenchFailure(description: "\(count) of \(log.count) were read") }
      })
  }
  return [reading, encoding]
}

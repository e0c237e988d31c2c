// MonitorClient: asks a monitor over a bare socket, so that a test chooses every header.

#if Monitor
  import Foundation
  import Testing
  import TestSupport

  /// An answer, or as much of it as was read.
  struct Answer {
    var status = 0
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []

    subscript(name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }

    var text: String { String(decoding: body, as: UTF8.self) }

    var json: [String: Any]? { (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] }
  }

  extension Answer {
    /// Reads the head of an answer; `nil` if it is not there yet.
    init?(head bytes: [UInt8], _ length: inout Int) {
      guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
      let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
      guard let first = lines.first?.split(separator: " "), first.count > 1, let code = Int(first[1]) else {
        return nil
      }
      status = code
      headers = lines.dropFirst().compactMap { line in
        guard let colon = line.firstIndex(of: ":") else { return nil }
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        return (line[..<colon].lowercased(), String(value))
      }
      length = end.upperBound
    }
  }

  /// Asks for a path, and reads the whole answer.
  func ask(
    _ port: Int, _ path: String, method: String = "GET", host: String? = nil, _ headers: [String] = []
  ) async throws -> Answer {
    let connection = try Connection(port: port)
    let lines = ["\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")", "Connection: close"] + headers
    connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
    var length = 0
    var answer = try #require(try await connection.read { Answer(head: $0, &length) })
    connection.drop(length)
    answer.body = try await connection.readToEnd()
    if answer["transfer-encoding"] == "chunked" { answer.body = unchunked(answer.body) }
    return answer
  }

  /// The bytes of chunks, as far as they are whole.
  func unchunked(_ bytes: [UInt8]) -> [UInt8] {
    var rest = bytes[...]
    var body: [UInt8] = []
    while let line = rest.firstRange(of: Array("\r\n".utf8)),
      let count = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16), count > 0,
      rest.endIndex - line.upperBound >= count + 2
    {
      body += rest[line.upperBound..<line.upperBound + count]
      rest = rest[(line.upperBound + count + 2)...]
    }
    return body
  }
#endif

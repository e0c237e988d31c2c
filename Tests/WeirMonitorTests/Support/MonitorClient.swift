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

  /// A connection to a server on this machine.
  final class MonitorConnection {
    private let socket: Int32
    private var buffer: [UInt8] = []
    private(set) var isAtEnd = false

    init(port: Int, to address: String = "127.0.0.1") throws {
      socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var place = sockaddr_in()
      place.sin_family = sa_family_t(AF_INET)
      place.sin_port = in_port_t(port).bigEndian
      inet_pton(AF_INET, address, &place.sin_addr)
      let result = withUnsafePointer(to: &place) { place in
        place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      if result != 0 {
        close(socket)
        throw POSIXError(.ECONNREFUSED)
      }
      // Reads return at once: a thread of those that all tests share must not stand still.
      _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
    }

    deinit { close(socket) }

    func send(_ text: String) { _ = text.withCString { write(socket, $0, strlen($0)) } }

    /// Reads until `body` finds what it looks for in what came.
    func read<Found>(_ find: ([UInt8]) -> Found?) async throws -> Found? {
      let deadline = ContinuousClock.now + patience
      while ContinuousClock.now < deadline {
        if let found = find(buffer) { return found }
        if receive() { continue }
        if isAtEnd { return find(buffer) }
        try await Task.sleep(for: .milliseconds(2))
      }
      return nil
    }

    /// Takes what has come. Returns whether something has.
    private func receive() -> Bool {
      var piece = [UInt8](repeating: 0, count: 1 << 16)
      let count = Glibc.read(socket, &piece, piece.count)
      if count == 0 { isAtEnd = true }
      buffer += piece[..<max(0, count)]
      return count > 0
    }

    /// Whether something has come by now.
    var hasBytes: Bool { receive() || !buffer.isEmpty }

    /// Forgets what was read up to here.
    func drop(_ count: Int) { buffer.removeFirst(count) }
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
    let connection = try MonitorConnection(port: port)
    let lines = ["\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")", "Connection: close"] + headers
    connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
    var length = 0
    var answer = try #require(try await connection.read { Answer(head: $0, &length) })
    connection.drop(length)
    _ = try await connection.read { _ in connection.isAtEnd ? true : nil }
    answer.body = try #require(try await connection.read { $0 })
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

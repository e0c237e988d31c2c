// TestServer: an HTTP server on loopback that answers as a test says, byte by byte if it must.
//
// By hand, over sockets: a server that is written to be right can't cut its answers, or answer before it was asked.

#if HTTP
  import Foundation
  import Synchronization

  /// A request as it came.
  struct TestRequest: Sendable {
    var method = ""
    /// Path and query; behind a proxy the whole address.
    var target = ""
    /// Names in lower case.
    var headers: [String: String] = [:]
    /// As it came: compressed, if it was.
    var body: [UInt8] = []
    /// The number of the connection that it came over, from 1.
    var connection = 0

    /// The body, unpacked if it came packed.
    var content: [UInt8] {
      headers["content-encoding"] == "gzip" ? (gunzip(body) ?? []) : body
    }

    var text: String { String(decoding: content, as: UTF8.self) }
    var path: String { String(target.prefix { $0 != "?" }) }
    var query: String { target.firstIndex(of: "?").map { String(target[$0...].dropFirst()) } ?? "" }
    var json: Any? { try? JSONSerialization.jsonObject(with: Data(content)) }
  }

  /// What a server does about a request.
  enum TestReply: Sendable {
    case answer(Int, headers: [String: String] = [:], body: String = "")
    /// An answer with a body that is not text.
    case bytes(Int, headers: [String: String], body: [UInt8])
    /// These bytes, and the end of the connection if it closes.
    case raw(String, closes: Bool = true)
    /// Nothing, until the server is stopped.
    case hang
    /// An answer whose body comes a byte every so often.
    case trickle(Int, every: Duration)
  }

  final class TestServer: Sendable {
    typealias Handler = @Sendable (TestRequest) -> TestReply

    private struct State {
      var requests: [TestRequest] = []
      /// Those that are open.
      var connections: Set<Int32> = []
      var connectionCount = 0
      var isStopped = false
    }

    let port: Int
    private let listener: Int32
    private let state = Mutex(State())
    private let handler: Handler

    var url: String { "http://127.0.0.1:\(port)" }
    var requests: [TestRequest] { state.withLock { $0.requests } }
    var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// A server that gives these replies, one a request, and then the last of them for ever.
    convenience init(_ replies: TestReply...) throws {
      let next = Mutex(0)
      try self.init { _ in
        next.withLock { next in
          defer { next += 1 }
          return replies[min(next, replies.count - 1)]
        }
      }
    }

    /// A port on which everything is refused for as long as the server is there: bound, and nobody listens. The port of
    /// a server that was stopped could be another test's a moment later.
    static func refusing() throws -> TestServer { try TestServer(isListening: false) { _ in .hang } }

    init(isListening: Bool = true, handler: @escaping Handler) throws {
      self.handler = handler
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let descriptor = listener
      let bound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          bind(descriptor, address, size) == 0 && (!isListening || listen(descriptor, 64) == 0)
            && getsockname(descriptor, address, &size) == 0
        }
      }
      guard bound else { throw TestServerError() }
      port = Int(UInt16(bigEndian: address.sin_port))
      guard isListening else { return }
      let server = Unmanaged.passRetained(self)
      Thread.detachNewThread { server.takeRetainedValue().accept() }
    }

    struct TestServerError: Error {}

    /// Ends every connection, and takes no more: what connects after it is refused.
    func stop() {
      state.withLock { state in
        state.isStopped = true
        for connection in state.connections { Foundation.shutdown(connection, Int32(SHUT_RDWR)) }
      }
      // Closed by the thread that accepts; one that does not listen has none.
      if Foundation.shutdown(listener, Int32(SHUT_RDWR)) != 0 { close(listener) }
    }

    private func accept() {
      while true {
        let connection = Foundation.accept(listener, nil, nil)
        guard connection >= 0 else { break }
        let number = state.withLock { state -> Int? in
          guard !state.isStopped else { return nil }
          state.connections.insert(connection)
          state.connectionCount += 1
          return state.connectionCount
        }
        guard let number else {
          close(connection)
          break
        }
        Thread.detachNewThread { self.serve(connection, number) }
      }
      close(listener)
    }

    private func serve(_ connection: Int32, _ number: Int) {
      var received: [UInt8] = []
      while let request = read(connection, number, &received) {
        state.withLock { $0.requests.append(request) }
        guard reply(handler(request), on: connection) else { break }
      }
      // Under the lock: once it is closed, its number may be another's.
      state.withLock { state in
        state.connections.remove(connection)
        close(connection)
      }
    }

    /// Answers whether the connection goes on.
    private func reply(_ reply: TestReply, on connection: Int32) -> Bool {
      switch reply {
      case .answer(let status, let headers, let body):
        return self.reply(.bytes(status, headers: headers, body: Array(body.utf8)), on: connection)
      case .bytes(let status, let headers, let body):
        var head = "HTTP/1.1 \(status) Test\r\ncontent-length: \(body.count)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        return write(Array(head.utf8) + Array("\r\n".utf8) + body, on: connection)
      case .raw(let text, let closes):
        return write(Array(text.utf8), on: connection) && !closes
      case .hang:
        while !state.withLock({ $0.isStopped }) { usleep(5_000) }
        return false
      case .trickle(let count, let pause):
        guard write(Array("HTTP/1.1 200 OK\r\ncontent-length: \(count)\r\n\r\n".utf8), on: connection) else {
          return false
        }
        for _ in 0..<count {
          usleep(UInt32(pause / .microseconds(1)))
          guard !state.withLock({ $0.isStopped }), write([0x20], on: connection) else { return false }
        }
        return true
      }
    }

    private func write(_ bytes: [UInt8], on connection: Int32) -> Bool {
      var done = 0
      while done < bytes.count {
        let count = bytes.withUnsafeBytes {
          send(connection, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return false }
        done += count
      }
      return true
    }

    /// The next request of a connection; nil at its end.
    private func read(_ connection: Int32, _ number: Int, _ received: inout [UInt8]) -> TestRequest? {
      let end = Array("\r\n\r\n".utf8)
      while true {
        if let head = received.firstRange(of: end) {
          var request = TestRequest()
          request.connection = number
          let lines = String(decoding: received[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
          let first = lines[0].split(separator: " ")
          guard first.count == 3 else { return nil }
          (request.method, request.target) = (String(first[0]), String(first[1]))
          for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            request.headers[line[..<colon].lowercased()] =
              line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
          }
          let length = Int(request.headers["content-length"] ?? "0") ?? 0
          while received.count < head.upperBound + length {
            guard receive(connection, &received) else { return nil }
          }
          request.body = Array(received[head.upperBound..<head.upperBound + length])
          received.removeSubrange(..<(head.upperBound + length))
          return request
        }
        guard receive(connection, &received) else { return nil }
      }
    }

    private func receive(_ connection: Int32, _ received: inout [UInt8]) -> Bool {
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return false }
      received += buffer[..<count]
      return true
    }
  }
#endif

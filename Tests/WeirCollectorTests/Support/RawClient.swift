// RawClient: HTTP over a bare socket, so that a test sees what is on the wire: an answer that is cut, or none at all.

#if Collector
  import Foundation
  import Glibc

  struct RawAnswer: Sendable {
    /// 0 if there was no answer.
    var status = 0
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    /// The body is as long as it was announced.
    var isWhole = false

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON, or an empty object.
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:] }

    init() {}

    init(_ bytes: [UInt8]) {
      guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
      let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
      status = Int(lines.first?.split(separator: " ").dropFirst().first ?? "") ?? 0
      for line in lines.dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1)
        headers[parts[0].lowercased()] = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
      }
      body = Array(bytes[end.upperBound...])
      isWhole = body.count == headers["content-length"].flatMap { Int($0) } ?? 0
    }
  }

  struct RawClient: Sendable {
    var port: Int

    /// Posts a body, and reads what comes until the connection ends.
    func post(_ path: String, _ body: [UInt8], _ headers: [String: String] = [:]) async throws -> RawAnswer {
      try await send("POST", path, body, headers)
    }

    func post(_ path: String, _ body: String, _ headers: [String: String] = [:]) async throws -> RawAnswer {
      try await send("POST", path, Array(body.utf8), headers)
    }

    func get(_ path: String) async throws -> RawAnswer {
      try await send("GET", path, [], [:])
    }

    func send(
      _ method: String, _ path: String, _ body: [UInt8], _ headers: [String: String]
    ) async throws -> RawAnswer {
      var head = "\(method) \(path) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
      if method != "GET" { head += "Content-Length: \(body.count)\r\n" }
      for (name, value) in headers { head += "\(name): \(value)\r\n" }
      return try await exchange([Array(head.utf8) + Array("\r\n".utf8) + body])
    }

    /// Sends pieces, with a pause before each but the first, and reads what comes until the connection ends.
    func exchange(_ pieces: [[UInt8]], pause: Double = 0) async throws -> RawAnswer {
      let port = port
      return try await withCheckedThrowingContinuation { continuation in
        // The calls block, and must not block a thread that the collector's tasks need.
        Thread.detachNewThread {
          continuation.resume(with: Result { try Self.blocking(port, pieces, pause) })
        }
      }
    }

    /// Sends the pieces over one connection, and after each reads an answer; `ends` tells whether the connection ends
    /// behind the last one.
    func talk(_ pieces: [String]) async throws -> (answers: [RawAnswer], ends: Bool) {
      let port = port
      return try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(with: Result { try Self.blockingTalk(port, pieces) })
        }
      }
    }

    private static func blockingTalk(_ port: Int, _ pieces: [String]) throws -> (answers: [RawAnswer], ends: Bool) {
      let descriptor = try connected(port)
      defer { close(descriptor) }
      var answers: [RawAnswer] = []
      for piece in pieces {
        guard write(Array(piece.utf8), to: descriptor) else { break }
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        var answer = RawAnswer()
        while !answer.isWhole, Glibc.read(descriptor, &byte, 1) == 1 {
          bytes.append(byte)
          answer = RawAnswer(bytes)
        }
        answers.append(answer)
      }
      var byte: UInt8 = 0
      return (answers, Glibc.read(descriptor, &byte, 1) == 0)
    }

    /// A connection that has sent bytes, and stays open until it leaves.
    struct Held {
      fileprivate let descriptor: Int32

      func leave() { close(descriptor) }
    }

    func hold(_ bytes: [UInt8]) throws -> Held {
      let descriptor = try Self.connected(port)
      _ = Self.write(bytes, to: descriptor)
      return Held(descriptor: descriptor)
    }

    private static func blocking(_ port: Int, _ pieces: [[UInt8]], _ pause: Double) throws -> RawAnswer {
      let descriptor = try connected(port)
      defer { close(descriptor) }
      for (index, piece) in pieces.enumerated() {
        if index > 0, pause > 0 { usleep(useconds_t(pause * 1_000_000)) }
        // Whoever has answered already need not take the rest.
        guard write(piece, to: descriptor) else { break }
      }
      return RawAnswer(read(descriptor))
    }

    private static func connected(_ port: Int) throws -> Int32 {
      _ = Glibc.signal(SIGPIPE, SIG_IGN)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw POSIXError(.EMFILE) }
      var limit = timeval(tv_sec: 900, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(UInt16(port).bigEndian)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let status = withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard status == 0 else {
        let problem = errno
        close(descriptor)
        throw POSIXError(.init(rawValue: problem) ?? .ECONNREFUSED)
      }
      return descriptor
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
      var sent = 0
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + sent, bytes.count - sent) }
        if count <= 0 { return false }
        sent += count
      }
      return true
    }

    private static func read(_ descriptor: Int32) -> [UInt8] {
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 64 << 10)
      while true {
        let count = Glibc.read(descriptor, &chunk, chunk.count)
        if count <= 0 { return bytes }
        bytes.append(contentsOf: chunk[..<count])
      }
    }
  }
#endif

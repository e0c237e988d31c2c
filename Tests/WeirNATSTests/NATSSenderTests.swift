// What a sender makes of answers that a real server gives seldom: late ones, and those that promise nothing.

#if NATS
  import Foundation
  import Synchronization
  import Testing
  import Weir
  import WeirFleet

  @testable import WeirNATS

  /// A server that takes one connection, and answers publications as a test says.
  private final class ScriptedServer: Sendable {
    /// Gets the number of messages that came so far, and the reply subject of the newest one. Returns what is to be
    /// answered: subjects with bodies.
    typealias Script = @Sendable (Int, String) -> [(subject: String, body: String)]

    let port: Int
    private let listener: Int32

    init(_ script: @escaping Script) throws {
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          bind(listener, address, size) == 0 && listen(listener, 4) == 0
            && getsockname(listener, address, &size) == 0
        }
      }
      try #require(isBound)
      port = Int(UInt16(bigEndian: address.sin_port))
      self.listener = listener
      Thread.detachNewThread {
        let connection = accept(listener, nil, nil)
        if connection >= 0 { Self.serve(connection, script) }
      }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func serve(_ connection: Int32, _ script: Script) {
      defer { close(connection) }
      send("INFO {\"max_payload\":1048576,\"headers\":true,\"proto\":1}\r\n", to: connection)
      var (input, count): ([UInt8], Int) = ([], 0)
      // By the beginning of the subject, which ends with a star.
      var subscriptions: [(subject: Substring, id: Substring)] = []
      func answer(_ subject: Substring, _ body: String) {
        guard let id = subscriptions.first(where: { subject.hasPrefix($0.subject) })?.id else { return }
        send("MSG \(subject) \(id) \(body.utf8.count)\r\n\(body)\r\n", to: connection)
      }
      var chunk = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let got = read(connection, &chunk, chunk.count)
        guard got > 0 else { return }
        input += chunk.prefix(got)
        while let end = input.firstIndex(of: 10) {
          let words = String(decoding: input[..<end], as: UTF8.self).split(whereSeparator: \.isWhitespace)
          var length = end + 1
          if words.first == "HPUB" || words.first == "PUB" {
            length += (words.last.flatMap { Int($0) } ?? 0) + 2
            guard input.count >= length else { break }
          }
          input.removeFirst(length)
          switch words.first {
          case "PING": send("PONG\r\n", to: connection)
          case "SUB": subscriptions.append((words[1].dropLast(), words[words.count - 1]))
          // A request: what the stream is like.
          case "PUB": answer(words[2], Self.info)
          case "HPUB":
            count += 1
            for (subject, body) in script(count, String(words[2])) { answer(subject[...], body) }
          default: break
          }
        }
      }
    }

    private static let info = #"""
      {"config":{"name":"s","subjects":["s.>"],"num_replicas":1,"storage":"file"},
      "state":{"messages":0,"first_seq":0,"last_seq":0}}
      """#.replacing("\n", with: "")

    private static func send(_ text: String, to connection: Int32) {
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        let sent = rest.withUnsafeBytes {
          Foundation.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard sent > 0 else { return }
        rest = rest.dropFirst(sent)
      }
    }
  }

  private func messages(_ count: Int) -> [OutgoingMessage] {
    (0..<count).map { OutgoingMessage(place: ["h", "o"], id: "\($0)", headers: [("A", "b")], body: [1, 2, 3]) }
  }

  private func stored(_ sequence: Int) -> String { #"{"stream":"s","seq":\#(sequence)}"# }

  struct NATSSenderTests {
    @Test func `a late second answer to an earlier call acknowledges no message of another call`() async throws {
      let subjects = Mutex<[String]>([])
      let (isLate, late) = AsyncStream.makeStream(of: Void.self)
      // Ten messages are stored, and of the three behind them none. With the last of those come second answers to the ten.
      let server = try ScriptedServer { count, subject in
        guard count > 10 else {
          subjects.withLock { $0.append(subject) }
          return [(subject, stored(count))]
        }
        guard count == 13 else { return [] }
        late.finish()
        return subjects.withLock { $0 }.map { ($0, stored(7)) }
      }
      let sender = try NATSSender(try NATSConfiguration("nats://127.0.0.1:\(server.port)", stream: "s"))
      let first = try await sender.send(messages(10))
      #expect(first == Array(repeating: .stored, count: 10))
      let second = Task {
        defer { late.finish() }
        return try await sender.send(messages(3))
      }
      for await _ in isLate {}
      // The sender would wait for its patience to end.
      try await Task.sleep(for: .milliseconds(500))
      second.cancel()
      let outcomes = try await second.value
      #expect(outcomes.count == 3)
      #expect(!outcomes.contains(.stored))
    }

    @Test(arguments: [
      #"{"stream":"s","duplicate":true}"#, #"{"stream":"s","seq":0,"duplicate":true}"#, "{}", "+OK", #"{"seq":-1}"#,
    ])
    func `an answer without a place in the stream acknowledges nothing`(answer: String) async throws {
      let (isAnswered, answered) = AsyncStream.makeStream(of: Void.self)
      let server = try ScriptedServer { _, subject in
        answered.finish()
        return [(subject, answer)]
      }
      let sender = try NATSSender(try NATSConfiguration("nats://127.0.0.1:\(server.port)", stream: "s"))
      let sent = Task {
        defer { answered.finish() }
        return try await sender.send(messages(1))
      }
      for await _ in isAnswered {}
      try await Task.sleep(for: .milliseconds(200))
      sent.cancel()
      let outcomes = try await sent.value
      #expect(!outcomes.contains(.stored))
    }
  }
#endif

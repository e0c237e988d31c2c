// MonitorStage: a monitor that runs for one test, and a browser's worth of a client.

#if Monitor
  import Foundation
  import Synchronization
  import TestSupport
  import Testing

  @testable import Weir
  @testable import WeirMonitor

  /// A running monitor, and the cookie of a browser that opened its address.
  struct MonitorStage {
    let port: Int
    let cookie: String
    let addresses: Addresses

    /// The addresses that the monitor printed.
    final class Addresses: Sendable {
      let all = Mutex<[String]>([])

      var last: String? { all.withLock { $0.last } }
    }

    /// Runs a monitor of a directory, and `body` with it.
    static func run(
      _ directory: String, _ change: (inout Monitor.Configuration) -> Void = { _ in },
      _ body: @escaping @Sendable (MonitorStage) async throws -> Void
    ) async throws {
      let addresses = Addresses()
      var configuration = Monitor.Configuration()
      configuration.onAddress = { address in addresses.all.withLock { $0.append(address) } }
      change(&configuration)
      let monitor = try Monitor(directory: directory, configuration: configuration)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await monitor.run() }
        #expect(await eventually { addresses.last != nil })
        let address = try #require(addresses.last)
        let port = try #require(URL(string: address)?.port)
        let path = try #require(address.firstIndex(of: "?")).samePosition(in: address)
        let answer = try await ask(port, "/" + address[try #require(path)...])
        #expect(answer.status == 303)
        let cookie = try #require(answer["set-cookie"]?.split(separator: ";").first.map(String.init))
        try await body(MonitorStage(port: port, cookie: cookie, addresses: addresses))
        group.cancelAll()
        try await group.waitForAll()
      }
    }

    /// Asks with the cookie.
    func get(_ path: String, _ headers: [String] = []) async throws -> Answer {
      try await ask(port, path, ["Cookie: \(cookie)"] + headers)
    }

    /// Opens a stream.
    func stream(_ query: String = "", _ headers: [String] = []) throws -> MonitorStream {
      let connection = try Connection(port: port)
      let lines = ["GET /stream\(query) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Cookie: \(cookie)"] + headers
      connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
      return MonitorStream(connection)
    }
  }

  /// The messages of one stream.
  final class MonitorStream {
    private let connection: Connection
    private var head: Answer?
    private var taken = 0
    /// The id of the last message that had one.
    private(set) var lastID: String?
    /// The rows that came, by offset.
    private(set) var rows: [Int: [String: Any]] = [:]
    /// How often each row came.
    private(set) var times: [Int: Int] = [:]
    private(set) var providers: [String] = []
    private(set) var matched = 0
    private(set) var looked = 0

    init(_ connection: Connection) {
      self.connection = connection
    }

    /// The status of the answer.
    func status() async throws -> Int {
      var length = 0
      if head == nil {
        head = try await connection.read { Answer(head: $0, &length) }
        connection.drop(length)
      }
      return head?.status ?? 0
    }

    /// Whether something has come by now.
    var hasBytes: Bool { connection.hasBytes }

    struct Message {
      var event: String
      var id: String?
      var data: Any
    }

    /// Reads messages until `isEnough`; false if the stream ended, or nothing came for long.
    func read(until isEnough: (MonitorStream, Message) throws -> Bool) async throws -> Bool {
      #expect(try await status() == 200)
      // Sums come every second, whatever is waited for.
      let deadline = ContinuousClock.now + patience
      while ContinuousClock.now < deadline {
        let texts = try await connection.read { [taken] bytes -> [String]? in
          let text = String(decoding: unchunked(bytes), as: UTF8.self)
          let messages = text.components(separatedBy: "\n\n").dropLast()
          return messages.count > taken ? Array(messages.dropFirst(taken)) : nil
        }
        guard let texts else { return false }
        for text in texts {
          taken += 1
          guard let message = Self.message(text) else { continue }
          take(message)
          if try isEnough(self, message) { return true }
        }
      }
      return false
    }

    private static func message(_ text: String) -> Message? {
      var message = Message(event: "", id: nil, data: 0)
      for line in text.split(separator: "\n") {
        if line.hasPrefix("event: ") { message.event = String(line.dropFirst(7)) }
        if line.hasPrefix("id: ") { message.id = String(line.dropFirst(4)) }
        guard line.hasPrefix("data: "),
          let data = try? JSONSerialization.jsonObject(with: Data(line.dropFirst(6).utf8), options: .fragmentsAllowed)
        else { continue }
        message.data = data
      }
      return message.event.isEmpty ? nil : message
    }

    private func take(_ message: Message) {
      if let id = message.id { lastID = id }
      if message.event == "providers" { providers = message.data as? [String] ?? [] }
      guard message.event == "frame", let frame = message.data as? [String: Any] else { return }
      matched += frame["matched"] as? Int ?? 0
      looked += frame["looked"] as? Int ?? 0
      for range in frame["gone"] as? [[Int]] ?? [] {
        for offset in rows.keys where (range[0]...range[1]).contains(offset) { rows[offset] = nil }
      }
      for row in (frame["rows"] as? [[String: Any]] ?? []) + (frame["late"] as? [[String: Any]] ?? []) {
        guard let offset = row["offset"] as? Int else { continue }
        rows[offset] = row
        times[offset, default: 0] += 1
      }
      for change in frame["states"] as? [[Any]] ?? [] {
        guard let offset = change.first as? Int else { continue }
        rows[offset]?["states"] = change[1]
        rows[offset]?["flags"] = change.count > 2 ? change[2] : nil
      }
    }
  }
#endif

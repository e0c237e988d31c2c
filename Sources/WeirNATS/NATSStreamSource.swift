// NATSStreamSource: reads the messages of a stream, from a position of its own.

#if NATS
  import CNATS
  import Weir
  import WeirDelivery
  package import WeirFleet

  /// Reads a stream with a consumer that the server forgets, and acknowledges nothing: how far a stream is read is for
  /// the log to know. Whatever is odd ends in an error, and the next ``open(from:)`` begins where the log ends.
  package final class NATSStreamSource: MessageSource {
    /// The bytes that the server may have on the way, in two requests.
    private static let bytesOnTheWay = 8 << 20
    private static let mostMessages = 256
    /// The server says so often that it lives.
    private static let heartbeat = Duration.seconds(1)

    private let configuration: NATSConfiguration
    private let replicas: Int?
    private var connection: NATSConnection?
    /// The stream and when it was made: a stream that was made anew is another one.
    private var source = ""
    private var consumer = ""
    private var nextSequence: UInt64 = 1
    /// The number that the consumer's next message has.
    private var nextDelivery: UInt64 = 1
    private var token = 0
    /// Messages that were asked for and did not come yet.
    private var outstanding = 0
    private var largestMessage = 256 << 10
    private var lastHeard = Duration.zero
    private var news: [SourceNews] = []
    package private(set) var behind: UInt64?

    /// - Parameters:
    ///   - configuration: The stream.
    ///   - replicas: If there is no such stream, it is made, on the disks of so many servers; `nil` makes none.
    package init(_ configuration: NATSConfiguration, replicas: Int? = nil) {
      (self.configuration, self.replicas) = (configuration, replicas)
    }

    package var description: String { "\(configuration.address.shown), stream \(configuration.stream)" }

    package func close() {
      if let connection, !consumer.isEmpty, !connection.isClosed {
        _ = connection.request("$JS.API.CONSUMER.DELETE.\(configuration.stream).\(consumer)", "", token: 0)
      }
      connection = nil
      consumer = ""
      news = []
    }

    package func open(from position: (String) -> UInt64?) throws {
      close()
      let connection = try NATSConnection(configuration, name: "weir collect")
      if let replicas { try StreamInfo.make(connection, configuration.stream, replicas: replicas) }
      let info = try StreamInfo.ask(connection, configuration.stream)
      guard let state = info.state, let created = info.created else {
        throw BrokerFailure("the stream \(configuration.stream) says neither its state nor when it was made")
      }
      source = "\(configuration.stream)@\(created)"
      let first = max(state.firstSeq, 1)
      nextSequence = position(source) ?? first
      if nextSequence > state.lastSeq + 1 {
        // The stream has lost its end, and will use these places again.
        news.append(.restarted(source: source, at: first))
        nextSequence = first
      }
      if nextSequence < first {
        news.append(.gone(source: source, positions: nextSequence..<first))
        nextSequence = first
      }
      behind = state.lastSeq + 1 - nextSequence
      try makeConsumer(connection)
      self.connection = connection
    }

    /// The answer to the request for a consumer.
    private struct Made: Decodable {
      var name: String?
      var error: JetStreamError?
    }

    private func makeConsumer(_ connection: NATSConnection) throws {
      let request =
        #"{"stream_name":"\#(configuration.stream)","config":{"deliver_policy":"by_start_sequence","opt_start_seq":"#
        + #"\#(nextSequence),"ack_policy":"none","replay_policy":"instant","inactive_threshold":30000000000,"#
        + #""num_replicas":1,"mem_storage":true}}"#
      let bytes = try connection.ask("$JS.API.CONSUMER.CREATE.\(configuration.stream)", request)
      let made = try? JetStreamJSON.decode(Made.self, bytes)
      guard let name = made?.name else {
        throw BrokerFailure("a consumer of the stream \(configuration.stream): \(made?.error?.text ?? "no answer")")
      }
      consumer = name
      nextDelivery = 1
      outstanding = 0
      lastHeard = Self.now
    }

    package func next(within time: Duration) throws -> SourceNews {
      if !news.isEmpty { return news.removeFirst() }
      guard let connection else { throw BrokerFailure("the stream is not open") }
      let end = Self.now + time
      repeat {
        try askForMore(connection)
        switch connection.answer(within: min(max(end - Self.now, .milliseconds(1)), Self.heartbeat)) {
        case .message(let message):
          lastHeard = Self.now
          if let found = try take(message) { return found }
        case .noResponders: throw BrokerFailure("the consumer is gone")
        case .closed: throw BrokerFailure(connection.takeComplaint() ?? "the connection was lost")
        case .nothing:
          if let complaint = connection.takeComplaint() { throw DeliveryStopped(complaint) }
          if Self.now - lastHeard > Self.heartbeat * 4 { throw BrokerFailure("the servers are silent") }
        }
      } while Self.now < end
      return .nothing
    }

    /// Keeps two requests on the way.
    private func askForMore(_ connection: NATSConnection) throws {
      let batch = max(1, min(Self.mostMessages, Self.bytesOnTheWay / largestMessage))
      guard outstanding <= batch else { return }
      token += 1
      let request = #"{"batch":\#(batch),"expires":30000000000,"idle_heartbeat":\#(Self.heartbeat.wholeNanoseconds)}"#
      let subject = "$JS.API.CONSUMER.MSG.NEXT.\(configuration.stream).\(consumer)"
      let status = connection.request(subject, request, token: token)
      guard status == NATS_OK else { throw BrokerFailure(NATSConnection.text(status)) }
      outstanding += batch
    }

    private func take(_ message: NATSMessage) throws -> SourceNews? {
      if message.isEmpty, let status = message.header("Status") { return try takeStatus(status, message) }
      guard let place = message.place, place.consumer == consumer else { return nil }
      guard place.delivered == nextDelivery else { throw BrokerFailure("a message was lost on the way") }
      nextDelivery += 1
      outstanding -= 1
      behind = place.pending
      guard place.sequence >= nextSequence else { return nil }
      let body = message.body
      largestMessage = max(largestMessage, body.count)
      let found = SourceNews.message(
        ReceivedMessage(source: source, position: place.sequence, headers: message.headers, body: body))
      defer { nextSequence = place.sequence + 1 }
      guard place.sequence > nextSequence else { return found }
      news.append(found)
      return .gone(source: source, positions: nextSequence..<place.sequence)
    }

    private func takeStatus(_ status: String, _ message: NATSMessage) throws -> SourceNews? {
      switch status {
      case "100": return nil
      case "404", "408":
        // A request has ended.
        let rest = message.header("Nats-Pending-Messages").flatMap { Int($0) } ?? outstanding
        outstanding = max(0, outstanding - rest)
        return nil
      default: throw BrokerFailure("the server ended the reading: \(status) \(message.header("Description") ?? "")")
      }
    }

    private static var now: Duration { .nanoseconds(Int64(clamping: MonotonicTime.now.nanoseconds)) }
  }
#endif

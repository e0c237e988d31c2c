// NATSStreamSource: reads the messages of a stream, from a position of its own.

#if NATS
  import CNATS
  import Weir
  import WeirDelivery
  package import WeirFleet

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Reads a stream message by message, by sequence, with several requests on the way. The leader of the stream answers
  /// them; a consumer would read the replica of any server, and replicas may differ: see <doc:ThroughBrokers>. The server
  /// keeps no state for the reader.
  ///
  /// Whatever is odd, a new leader included, ends in an error, and the next ``open(from:)`` begins a little earlier.
  package final class NATSStreamSource: MessageSource {
    /// At most so many requests are on the way, and at most so many bytes of answers.
    private static let mostRequests = 32
    private static let bytesOnTheWay = 8 << 20
    /// At the end of the stream, the next message is asked for so often.
    private static let pollInterval = Duration.milliseconds(100)
    /// So often the stream is asked for its leader, its end and its beginning.
    private static let lookInterval = Duration.seconds(2)
    /// A request without an answer after so long has none.
    private static let answerTime = Duration.seconds(5)

    private let configuration: NATSConfiguration
    private let replicas: Int?
    private var connection: NATSConnection?
    /// The stream and when it was made: a stream that was made anew is another one.
    private var source = ""
    private var leader: String?
    private var lastSequence: UInt64 = 0
    private var nextLook = Duration.zero
    /// The sequence of the next message to give, and of the next one to ask for.
    private var nextSequence: UInt64 = 1
    private var nextRequest: UInt64 = 1
    private var answers: [UInt64: Answer] = [:]
    /// The sequence that the leader said has no message, although the stream goes on behind.
    private var absent: UInt64 = 0
    /// How many requests may be on the way: more as long as there is more, one at the end.
    private var window = 1
    private var largestMessage = 64 << 10
    private var lastAnswer = Duration.zero
    private var nextPoll = Duration.zero
    private var news: [SourceNews] = []

    /// - Parameters:
    ///   - configuration: The stream.
    ///   - replicas: If there is no such stream, it is made, on the disks of so many servers; `nil` makes none.
    package init(_ configuration: NATSConfiguration, replicas: Int? = nil) {
      (self.configuration, self.replicas) = (configuration, replicas)
    }

    package var description: String { "\(configuration.address.shown), stream \(configuration.stream)" }

    /// A leader that lost its majority answers for up to half a minute what its followers may never have.
    package var settlingTime: Duration { .seconds(60) }

    package private(set) var behind: UInt64?

    package func close() {
      connection = nil
      (news, answers) = ([], [:])
    }

    package func open(from place: (String) -> ReadPlace?) throws {
      close()
      let connection = try NATSConnection(configuration, name: "weir collect")
      if let replicas { try StreamInfo.make(connection, configuration.stream, replicas: replicas) }
      let info: StreamInfo
      do {
        info = try StreamInfo.ask(connection, configuration.stream)
      } catch let missing as StreamInfo.Missing {
        throw DeliveryStopped(missing.description)
      }
      guard let state = info.state, let created = info.created else {
        throw BrokerFailure("the stream \(configuration.stream) says neither its state nor when it was made")
      }
      if info.cluster != nil, info.cluster?.leader == nil {
        throw BrokerFailure("the stream \(configuration.stream) has no leader at present")
      }
      source = "\(configuration.stream)@\(created)"
      leader = info.cluster?.leader
      let first = max(state.firstSeq, 1)
      let place = place(source)
      nextSequence = place?.next ?? first
      let isBehind = nextSequence > state.lastSeq + 1
      if try isBehind || hasAnother(than: place?.last, first...max(first, state.lastSeq), connection) {
        // The stream has lost its end, and will use these places again.
        news.append(.restarted(source: source, at: first))
        nextSequence = first
      }
      passOver(upTo: first)
      nextRequest = nextSequence
      lastSequence = state.lastSeq
      (window, nextPoll, lastAnswer, nextLook, absent) = (1, .zero, Self.now, Self.now + Self.lookInterval, 0)
      self.connection = connection
      countBehind()
    }

    /// Whether the stream has another message where one was read: the stream had lost its end, and has grown again.
    private func hasAnother(
      than last: ReadPlace.Last?, _ kept: ClosedRange<UInt64>, _ connection: NATSConnection
    ) throws -> Bool {
      guard let last, kept.contains(last.position) else { return false }
      let answer = try connection.ask(
        "$JS.API.STREAM.MSG.GET.\(configuration.stream)", #"{"seq":\#(last.position)}"#)
      guard case .message(let message) = try read(answer, last.position) else { return false }
      return message.time != last.time
    }

    package func next(within time: Duration) throws -> SourceNews {
      if !news.isEmpty { return news.removeFirst() }
      guard let connection else { throw BrokerFailure("the stream is not open") }
      let end = Self.now + time
      repeat {
        if let found = takeAnswer() { return found }
        if Self.now >= nextLook { try look(connection) }
        if !news.isEmpty { return news.removeFirst() }
        try request(connection)
        try wait(connection, until: end)
      } while Self.now < end
      return takeAnswer() ?? .nothing
    }

    // MARK: Requests and answers

    /// An answer to a request for a message.
    private enum Answer {
      case message(ReceivedMessage)
      /// There is no message of this sequence: it was removed, or has not come yet.
      case none
    }

    /// Asks for as many messages as the window has.
    private func request(_ connection: NATSConnection) throws {
      guard Self.now >= nextPoll else { return }
      let most = max(1, min(window, Self.bytesOnTheWay / largestMessage))
      while nextRequest < nextSequence + UInt64(most) {
        let subject = "$JS.API.STREAM.MSG.GET.\(configuration.stream)"
        let status = connection.request(subject, #"{"seq":\#(nextRequest)}"#, token: Int(nextRequest))
        guard status == NATS_OK else { throw BrokerFailure(NATSConnection.text(status)) }
        if nextRequest == nextSequence { lastAnswer = Self.now }
        nextRequest += 1
      }
    }

    private func wait(_ connection: NATSConnection, until end: Duration) throws {
      let isAsked = nextRequest > nextSequence
      let wake = isAsked ? end : min(end, max(nextPoll, Self.now))
      switch connection.answer(within: max(wake - Self.now, .milliseconds(1))) {
      case .message(let message):
        guard let token = message.token, let sequence = UInt64(exactly: token), sequence >= nextSequence else { return }
        answers[sequence] = try read(message.body, sequence)
        lastAnswer = Self.now
      case .noResponders: throw BrokerFailure("the stream \(configuration.stream) has no leader at present")
      case .closed: throw BrokerFailure(connection.takeComplaint() ?? "the connection was lost")
      case .nothing:
        if let complaint = connection.takeComplaint() { throw DeliveryStopped(complaint) }
        if isAsked, Self.now - lastAnswer > Self.answerTime { throw BrokerFailure("the servers do not answer") }
      }
    }

    /// The answer to the request that is next in the order.
    private func takeAnswer() -> SourceNews? {
      guard let answer = answers.removeValue(forKey: nextSequence) else { return nil }
      switch answer {
      case .message(let message):
        nextSequence += 1
        lastSequence = max(lastSequence, message.position)
        window = min(window * 2, Self.mostRequests)
        countBehind()
        return .message(message)
      case .none:
        // Asked again, alone.
        (window, nextRequest, answers) = (1, nextSequence, [:])
        guard nextSequence <= lastSequence else {
          nextPoll = Self.now + Self.pollInterval
          return nil
        }
        // Only if the same leader says so twice, the message was removed.
        guard absent == nextSequence else {
          (absent, nextLook) = (nextSequence, .zero)
          return nil
        }
        passOver(upTo: nextSequence + 1)
        return news.isEmpty ? nil : news.removeFirst()
      }
    }

    /// The stream's answer to a request for a message.
    private struct Stored: Decodable {
      struct Message: Decodable {
        var seq: UInt64
        var hdrs: String?
        var data: String?
        var time: String?
      }

      var message: Message?
      var error: JetStreamError?
    }

    private func read(_ answer: [UInt8], _ sequence: UInt64) throws -> Answer {
      guard let stored = try? JetStreamJSON.decode(Stored.self, answer) else {
        throw BrokerFailure("the answer about message \(sequence) is no JSON of JetStream")
      }
      if let error = stored.error {
        guard error.errCode == 10_037 else {
          throw BrokerFailure("asking for message \(sequence) of \(configuration.stream): \(error.text)")
        }
        return .none
      }
      guard let message = stored.message, message.seq == sequence,
        let body = Data(base64Encoded: message.data ?? ""), let headers = Data(base64Encoded: message.hdrs ?? "")
      else { throw BrokerFailure("the answer about message \(sequence) has another message") }
      largestMessage = max(largestMessage, body.count * 4 / 3)
      return .message(
        ReceivedMessage(
          source: source, position: sequence, headers: Self.headers(headers), body: Array(body),
          time: message.time.flatMap { Timestamp(text: $0, form: .strict)?.nanosecondsSince1970 } ?? 0))
    }

    /// The headers as NATS has them on the wire: a line for each, after a first line.
    private static func headers(_ bytes: Data) -> [String: String] {
      var headers: [String: String] = [:]
      for line in String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").dropFirst() {
        guard let colon = line.firstIndex(of: ":") else { continue }
        headers[String(line[..<colon])] = String(line[line.index(after: colon)...].drop { $0 == " " })
      }
      return headers
    }

    // MARK: The stream

    /// Asks where the stream is and where it ends.
    private func look(_ connection: NATSConnection) throws {
      let info = try StreamInfo.ask(connection, configuration.stream)
      nextLook = Self.now + Self.lookInterval
      guard "\(configuration.stream)@\(info.created ?? "")" == source, let state = info.state else {
        throw BrokerFailure("the stream \(configuration.stream) was made anew")
      }
      guard info.cluster?.leader == leader else { throw BrokerFailure("the stream has another leader") }
      guard state.lastSeq + 1 >= nextSequence else { throw BrokerFailure("the stream has lost its end") }
      lastSequence = state.lastSeq
      if state.firstSeq > nextSequence {
        passOver(upTo: state.firstSeq)
        (nextRequest, answers) = (nextSequence, [:])
      }
      countBehind()
    }

    /// Goes on behind messages that the stream has removed.
    private func passOver(upTo sequence: UInt64) {
      guard sequence > nextSequence else { return }
      news.append(.gone(source: source, positions: nextSequence..<sequence))
      nextSequence = sequence
      nextRequest = max(nextRequest, nextSequence)
    }

    private func countBehind() {
      behind = lastSequence + 1 > nextSequence ? lastSequence + 1 - nextSequence : 0
    }

    private static var now: Duration { .nanoseconds(Int64(clamping: MonotonicTime.now.nanoseconds)) }
  }
#endif

// NATSSender: publishes messages to a stream, and waits for its acknowledgements.

#if NATS
  import CNATS
  import Weir
  import WeirDelivery
  import WeirFleet

  /// Publishes to a stream. All unacknowledged messages are published again with the same `Nats-Msg-Id`, so that the
  /// stream drops what it has, within its window for duplicates.
  actor NATSSender: MessageSender {
    /// A message without an answer is published again after so long.
    private static let answerTime = Duration.seconds(5)
    /// Without any acknowledgement for so long, the rest is left for another call.
    private static let patience = Duration.seconds(20)
    /// How long to wait for an answer before the sender looks at all else. Twice as long after each wait in vain, up to
    /// the second: beside a thousand hosts in one process ten looks a second were a sixth of all processor time.
    private static let waits = (first: Duration.milliseconds(100), longest: Duration.milliseconds(800))
    /// The pause before messages are published again that nobody took.
    private static let pause = Duration.milliseconds(250)

    /// A stream that is missing for so long is an error: servers that were just started, and a stream that is being made,
    /// need some seconds.
    private static let grace = Duration.seconds(15)

    private nonisolated let executor: ThreadExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let configuration: NATSConfiguration
    private var connection: NATSConnection?
    private var subject: String?
    private var largestInStream = Int.max
    private var missingSince: Duration?
    /// The token of the first message of this call, and of the next one. A late answer to an earlier call has a lower
    /// token than every message of this call, so the answer is never taken for another message's.
    private var firstToken = 0
    private var nextToken = 0

    init(_ configuration: NATSConfiguration) throws(WeirError) {
      self.configuration = configuration
      executor = try ThreadExecutor("weir-nats")
    }

    func connect() throws -> BrokerTerms {
      let connection = try opened()
      do {
        let info = try askAndCheck(connection)
        return BrokerTerms(
          largestMessage: min(connection.largestMessage, largestInStream), durability: info.durability)
      } catch let stop as DeliveryStopped where stop.reason.contains("STREAM.INFO") {
        // A user who may only publish.
        subject = configuration.subject ?? configuration.stream
        return BrokerTerms(largestMessage: connection.largestMessage, durability: "unknown: \(stop.reason)")
      }
    }

    private func askAndCheck(_ connection: NATSConnection) throws -> StreamInfo {
      do {
        let info = try StreamInfo.ask(connection, configuration.stream)
        missingSince = nil
        try check(info)
        return info
      } catch let missing as StreamInfo.Missing {
        let since = missingSince ?? Self.now
        missingSince = since
        guard Self.now - since < Self.grace else { throw DeliveryStopped(missing.description) }
        throw BrokerFailure(missing.description)
      }
    }

    private func check(_ info: StreamInfo) throws {
      subject = try info.subject(configuration.subject, of: configuration.stream)
      if info.config?.sealed == true { throw DeliveryStopped("the stream \(configuration.stream) is sealed") }
      if info.config?.noAck == true {
        throw DeliveryStopped(
          "the stream \(configuration.stream) acknowledges nothing (no_ack), so nothing could be called delivered; "
            + "change that")
      }
      if info.config?.retention == "interest" {
        throw DeliveryStopped(
          "the stream \(configuration.stream) keeps what its consumers wait for (retention interest), and acknowledges "
            + "what nobody waits for, too; make the stream with the retention limits")
      }
      largestInStream = info.config?.maxMsgSize.map { $0 > 0 ? $0 : .max } ?? .max
    }

    func disconnect() { connection = nil }

    private func opened() throws -> NATSConnection {
      if let connection, !connection.isClosed { return connection }
      connection = nil
      let made = try NATSConnection(configuration, name: "weir deliver")
      connection = made
      return made
    }

    // MARK: A call

    /// The messages of a call, and what became of them.
    private struct Call {
      let messages: [OutgoingMessage]
      var outcomes: [SendOutcome?]
      /// When each message is to be published again; `nil` if it is to be published now.
      var again: [Duration?]
      var progress: Duration
      var wait = NATSSender.waits.first
      var reason = "the servers do not answer"
      var stop: DeliveryStopped?

      var isDone: Bool { !outcomes.contains(nil) || stop != nil }
    }

    func send(_ messages: [OutgoingMessage]) throws -> [SendOutcome] {
      if subject == nil { _ = try connect() }
      firstToken = nextToken
      nextToken += messages.count
      var call = Call(
        messages: messages, outcomes: messages.map { _ in nil }, again: messages.map { _ in nil }, progress: Self.now)
      while !call.isDone, !Task.isCancelled, Self.now - call.progress < Self.patience {
        do {
          let connection = try opened()
          try publish(&call, connection)
          takeAnswers(&call, connection)
        } catch let stop as DeliveryStopped {
          call.stop = stop
        } catch {
          call.reason = "\(error)"
          lose(&call)
        }
      }
      if let stop = call.stop, call.outcomes.first.map({ $0 != .stored }) ?? true { throw stop }
      let reason = call.stop?.reason ?? call.reason
      return call.outcomes.map { $0 ?? .failed(reason) }
    }

    /// The connection is gone, and with it all answers that are still to come.
    private func lose(_ call: inout Call) {
      connection = nil
      for index in call.again.indices { call.again[index] = nil }
      NATSConnection.sleep(Self.pause)
    }

    /// Publishes what has not been published, or has not been answered for long.
    private func publish(_ call: inout Call, _ connection: NATSConnection) throws {
      let now = Self.now
      for (index, message) in call.messages.enumerated() where call.outcomes[index] == nil {
        if let again = call.again[index], again > now { continue }
        let text = ([subject ?? configuration.stream] + message.place.map(Self.token)).joined(separator: ".")
        let own = [("Nats-Msg-Id", message.id), ("Nats-Expected-Stream", configuration.stream)]
        switch connection.publish(text, own + message.headers, message.body, token: firstToken + index) {
        case NATS_OK:
          call.again[index] = now + Self.answerTime
          call.wait = Self.waits.first
        case NATS_MAX_PAYLOAD:
          call.outcomes[index] = .tooLarge("the servers take at most \(connection.largestMessage) bytes a message")
        case let status: throw BrokerFailure(NATSConnection.text(status))
        }
      }
    }

    /// Takes what has come, and waits a little for more.
    private func takeAnswers(_ call: inout Call, _ connection: NATSConnection) {
      var time = call.wait
      call.wait = min(call.wait * 2, Self.waits.longest)
      var isTaken = true
      while !call.isDone {
        switch connection.answer(within: time) {
        case .message(let message): take(message, &call)
        // The answer does not say to which message, and the others are mostly alike.
        case .noResponders: isTaken = false
        case .nothing:
          if !isTaken { nobodyTook(&call, connection) }
          if let complaint = connection.takeComplaint() { call.stop = DeliveryStopped(complaint) }
          return
        case .closed:
          call.reason = "the connection was lost"
          return lose(&call)
        }
        time = .milliseconds(1)
      }
    }

    /// An answer to a publication.
    private struct Answer: Decodable {
      var seq: UInt64?
      var error: JetStreamError?
    }

    private func take(_ message: NATSMessage, _ call: inout Call) {
      guard let token = message.token, call.messages.indices.contains(token - firstToken) else { return }
      let index = token - firstToken
      guard let answer = try? JetStreamJSON.decode(Answer.self, message.body) else {
        call.reason = "an answer is no JSON of JetStream"
        return
      }
      if let error = answer.error { return refused(index, error, &call) }
      // A message that the stream has is acknowledged with its place, also if it came twice.
      guard let sequence = answer.seq, sequence > 0 else {
        call.reason = "an acknowledgement says no place in the stream"
        return
      }
      call.outcomes[index] = .stored
      call.progress = Self.now
    }

    private func refused(_ index: Int, _ error: JetStreamError, _ call: inout Call) {
      let stream = configuration.stream
      switch error.errCode {
      case 10_054, 10_097: call.outcomes[index] = .tooLarge("the stream \(stream): \(error.text)")
      case 10_060:
        call.stop = DeliveryStopped(
          "the subject \(subject ?? "") belongs to another stream than \(stream): \(error.text); give the right one")
      case 10_109: call.stop = DeliveryStopped("the stream \(stream): \(error.text)")
      case 10_077, 10_002, 10_023, 10_047:
        call.reason = "the stream \(stream) is full: \(error.text)"
        call.outcomes[index] = .failed(call.reason)
      default:
        call.reason = "the stream \(stream): \(error.text)"
        call.outcomes[index] = .failed(call.reason)
      }
    }

    /// No server takes the subject: no stream does, or the stream has no leader at present.
    private func nobodyTook(_ call: inout Call, _ connection: NATSConnection) {
      call.reason = "the stream \(configuration.stream) has no leader, or does not exist"
      do {
        _ = try askAndCheck(connection)
      } catch let stop as DeliveryStopped where !stop.reason.contains("STREAM.INFO") {
        call.stop = stop
        return
      } catch {
        call.reason = "\(error)"
      }
      let again = Self.now + Self.pause
      for index in call.again.indices where call.outcomes[index] == nil { call.again[index] = again }
    }

    private static var now: Duration { .nanoseconds(Int64(clamping: MonotonicTime.now.nanoseconds)) }

    /// A text as a token of a subject.
    private static func token(_ text: String) -> String {
      String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") ? $0 : "-" })
    }
  }
#endif

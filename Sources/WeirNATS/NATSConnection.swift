// NATSConnection: a connection of nats.c.

#if NATS
  import CNATS
  import Synchronization
  import Weir
  import WeirDelivery
  import WeirFleet

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// One connection to a server of the cluster, with an inbox for answers. A connection that breaks stays broken: its
  /// owner makes another one. Belongs to one thread; a child of a fork must not use it.
  ///
  /// nats.c's own reconnecting is off. It would send what was not acknowledged before, at a time that nobody knows, and
  /// after two refused passwords it ends for good.
  final class NATSConnection {
    /// What nats.c tells on its own threads, by the number of the connection: callbacks may come after the end of a
    /// connection.
    private static let complaints = Mutex<[Int: String]>([:])
    private static let lastNumber = Mutex(0)

    private let number: Int
    private let connection: OpaquePointer
    private let inbox: String
    private let answers: OpaquePointer

    /// Connects to any of the servers. Throws `DeliveryStopped` for what nobody but a person can repair, and
    /// `BrokerFailure` for what may pass.
    init(_ configuration: NATSConfiguration, name: String) throws {
      let number = Self.lastNumber.withLock { last in
        last += 1
        return last
      }
      let address = configuration.address.shown
      var options: OpaquePointer?
      try Self.check(natsOptions_Create(&options), "making options")
      defer { natsOptions_Destroy(options) }
      try Self.set(options, configuration, name)
      natsOptions_SetErrorHandler(options, Self.noteError, UnsafeMutableRawPointer(bitPattern: number))
      var connection: OpaquePointer?
      let status = natsConnection_Connect(&connection, options)
      guard status == NATS_OK, let connection else { throw Self.problem(status, address) }
      self.number = number
      self.connection = connection
      var inbox: UnsafeMutablePointer<CChar>?
      var answers: OpaquePointer?
      var made = natsInbox_Create(&inbox)
      self.inbox = inbox.map { String(cString: $0) } ?? ""
      natsInbox_Destroy(inbox)
      if made == NATS_OK { made = natsConnection_SubscribeSync(&answers, connection, self.inbox + ".*") }
      guard made == NATS_OK, let answers else {
        natsConnection_Destroy(connection)
        throw Self.problem(made, address)
      }
      natsSubscription_SetPendingLimits(answers, -1, -1)
      self.answers = answers
    }

    deinit {
      // Waits for the thread that reads. nats.c 3.4 gives a message that arrives to a subscription that was destroyed.
      natsConnection_Close(connection)
      natsSubscription_Destroy(answers)
      natsConnection_Destroy(connection)
      Self.complaints.withLock { $0[number] = nil }
    }

    /// What the server complained about since the last call, such as a missing permission.
    func takeComplaint() -> String? { Self.complaints.withLock { $0.removeValue(forKey: number) } }

    /// The largest message that the server takes, headers included.
    var largestMessage: Int { Int(clamping: natsConnection_GetMaxPayload(connection)) }

    var isClosed: Bool { natsConnection_IsClosed(connection) }

    // MARK: Messages

    /// Sends a message, whose answer comes with the token. Returns `NATS_OK` if the message was written or waits to be.
    func publish(_ subject: String, _ headers: [(name: String, value: String)], _ body: [UInt8], token: Int)
      -> natsStatus
    {
      var message: OpaquePointer?
      var status = body.withUnsafeBytes { bytes in
        natsMsg_Create(
          &message, subject, "\(inbox).\(token)", bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
          Int32(clamping: bytes.count))
      }
      defer { natsMsg_Destroy(message) }
      for (name, value) in headers where status == NATS_OK { status = natsMsgHeader_Set(message, name, value) }
      return status == NATS_OK ? natsConnection_PublishMsg(connection, message) : status
    }

    /// Sends a request whose answers come with the token.
    func request(_ subject: String, _ body: String, token: Int) -> natsStatus {
      natsConnection_PublishRequest(connection, subject, "\(inbox).\(token)", body, Int32(clamping: body.utf8.count))
    }

    enum Answer {
      case message(NATSMessage)
      /// Nobody takes the request whose answer is not there, or one of the requests.
      case noResponders
      case nothing
      case closed
    }

    func answer(within time: Duration) -> Answer {
      var message: OpaquePointer?
      let status = natsSubscription_NextMsg(
        &message, answers, Int64(clamping: max(1, time.wholeNanoseconds / 1_000_000)))
      switch status {
      case NATS_OK: return message.map { .message(NATSMessage($0)) } ?? .nothing
      case NATS_TIMEOUT: return .nothing
      case NATS_NO_RESPONDERS: return .noResponders
      default: return .closed
      }
    }

    /// Asks JetStream, and waits for the answer.
    func ask(_ subject: String, _ body: String = "") throws -> [UInt8] {
      var message: OpaquePointer?
      let status = natsConnection_RequestString(&message, connection, subject, body, 3_000)
      defer { natsMsg_Destroy(message) }
      guard status == NATS_OK, let message else {
        if let complaint = takeComplaint() { throw DeliveryStopped(complaint) }
        if status == NATS_NO_RESPONDERS {
          throw BrokerFailure("no server answers \(subject); JetStream is not enabled there, or has no leader yet")
        }
        throw BrokerFailure("\(subject): \(Self.text(status))")
      }
      return NATSMessage.body(message)
    }

    // MARK: Options and errors

    private static func set(_ options: OpaquePointer?, _ configuration: NATSConfiguration, _ name: String) throws {
      let hosts = configuration.address.hosts.map { strdup("nats://\($0)") }
      defer { for host in hosts { free(host) } }
      var texts = hosts.map { UnsafePointer($0) }
      try check(natsOptions_SetServers(options, &texts, Int32(clamping: texts.count)), "the servers")
      for status in [
        natsOptions_SetName(options, name), natsOptions_SetAllowReconnect(options, false),
        natsOptions_SetTimeout(options, 5_000), natsOptions_SetWriteDeadline(options, 5_000),
        natsOptions_SetPingInterval(options, 5_000), natsOptions_SetMaxPingsOut(options, 2),
      ] { try check(status, "the options") }
      switch configuration.authentication {
      case .none: break
      case .user(let user, let password):
        try check(password.withValue { natsOptions_SetUserInfo(options, user, $0) }, "the user")
      case .token(let token): try check(token.withValue { natsOptions_SetToken(options, $0) }, "the token")
      case .credentials(let file):
        try check(natsOptions_SetUserCredentialsFromFiles(options, file, nil), "\(file)")
      case .nkey(let key, let file): try check(natsOptions_SetNKeyFromSeed(options, key, file), "\(file)")
      }
      if configuration.isEncrypted { try check(natsOptions_SetSecure(options, true), "TLS") }
      if let file = configuration.authorities {
        try check(natsOptions_LoadCATrustedCertificates(options, file), "\(file)")
      }
      if let (chain, key) = configuration.certificate {
        try check(natsOptions_LoadCertificatesChain(options, chain, key), "\(chain), \(key)")
      }
    }

    private static func check(_ status: natsStatus, _ what: String) throws {
      guard status != NATS_OK else { return }
      throw DeliveryStopped("\(what): \(text(status))\(detail())")
    }

    /// The error that a failed connection is.
    private static func problem(_ status: natsStatus, _ address: String) -> any Error {
      let text = "\(address): \(text(status))\(detail())"
      switch status {
      case NATS_CONNECTION_AUTH_FAILED:
        return DeliveryStopped("\(text); the server knows no such user, or not with that key")
      case NATS_SSL_ERROR: return DeliveryStopped("\(text); the certificates do not fit, see the authorities given")
      case NATS_SECURE_CONNECTION_WANTED:
        return DeliveryStopped("\(text); the server has no TLS, and tls:// is not sent in the clear")
      // A missing file of credentials.
      case NATS_ERR: return DeliveryStopped(text)
      default: return BrokerFailure(text)
      }
    }

    static func sleep(_ time: Duration) { usleep(UInt32(clamping: time.wholeNanoseconds / 1_000)) }

    static func text(_ status: natsStatus) -> String { String(cString: natsStatus_GetText(status)) }

    /// What nats.c says of the last error on this thread, without the place in its source, if that is more than the
    /// status.
    private static func detail() -> String {
      var status = NATS_OK
      guard let text = nats_GetLastError(&status), status != NATS_OK else { return "" }
      var words = String(cString: text)
      if words.hasPrefix("("), let end = words.firstRange(of: "): ") { words.removeSubrange(..<end.upperBound) }
      return words.isEmpty || words == Self.text(status) ? "" : " (\(words))"
    }

    private static let noteError: natsErrHandler = { connection, _, _, closure in
      var text: UnsafePointer<CChar>?
      natsConnection_GetLastError(connection, &text)
      guard let text else { return }
      let number = Int(bitPattern: closure)
      let complaint = String(cString: text)
      NATSConnection.complaints.withLock { $0[number] = complaint }
    }
  }

  /// A message that was received.
  final class NATSMessage {
    private let message: OpaquePointer

    init(_ message: OpaquePointer) { self.message = message }

    deinit { natsMsg_Destroy(message) }

    static func body(_ message: OpaquePointer) -> [UInt8] {
      let count = Int(natsMsg_GetDataLength(message))
      guard count > 0, let data = natsMsg_GetData(message) else { return [] }
      return Array(UnsafeRawBufferPointer(start: data, count: count))
    }

    var body: [UInt8] { Self.body(message) }

    /// The token of the request that this answers.
    var token: Int? {
      natsMsg_GetSubject(message).flatMap { String(cString: $0).split(separator: ".").last }.flatMap { Int($0) }
    }
  }
#endif

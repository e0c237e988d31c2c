// Plain: producers of nats.c without a log, written as its users write them: js_PublishMsgAsync with a handler.

#if Tool && NATS
  import ArgumentParser
  import CNATS
  import Foundation
  import Synchronization
  import Weir

  struct PlainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "plain", abstract: "Producers of nats.c without a log: what is in memory dies with the process.")

    enum Form: String, CaseIterable, ExpressibleByArgument {
      /// A line of JSON an event.
      case json
      /// The fields as they are in memory.
      case binary
      /// A part of a log of Weir, the same one for each message: nothing is made at all.
      case ready
    }

    @OptionGroup var load: Load

    @Option(help: "What a message has: json, binary, or ready for the same bytes of a real part each time.")
    var form = Form.json

    @Option(help: "Events in a message, if they fit into --bytes-in-flight, and into 1 MB, the usual bound of servers.")
    var eventsPerMessage = 10_000

    @Option(help: "Bytes of a host that may wait for their acknowledgement; at least one message may.")
    var bytesInFlight = 100_000

    /// A message with fewer events leaves after so long, as a part of Weir does.
    static let interval = Duration.seconds(1)

    /// The servers take 1 MiB with the headers. An event has at most 160 bytes.
    var mostBytes: Int { max(160, min(1_000_000, bytesInFlight)) }

    func run() async throws {
      let part = form == .ready ? try readyPart() : []
      let hosts = try load.names.map { try PlainHost($0, self, ready: part) }
      try await BenchRun(load, hosts).run()
      // The library's threads may still call the handlers of what is in flight.
      withExtendedLifetime(hosts) { _ = nats_CloseAndWait(5_000) }
    }

    private func readyPart() throws -> [UInt8] {
      let directory = NSTemporaryDirectory() + "/fleet-bench-\(ProcessInfo.processInfo.processIdentifier)"
      defer { try? FileManager.default.removeItem(atPath: directory) }
      var configuration = Tracker.Configuration()
      (configuration.logger, configuration.whenFull) = (nil, .block)
      let tracker = try Tracker(directory: directory, configuration: configuration)
      for number in 0..<eventsPerMessage { _ = tracker.track(Sale(number: number)) }
      try tracker.close()
      guard case .part(let part) = try LogCutter(directory: directory, from: 0).next(atMost: 1 << 20) else { return [] }
      guard part.summary.events == eventsPerMessage else {
        throw ValidationError("--events-per-message \(eventsPerMessage) does not fit into a message")
      }
      return part.bytes
    }
  }

  /// A connection. The batch, and the number of events, belong to the thread that makes the events.
  private final class PlainHost: BenchHost, @unchecked Sendable {
    // Options are slow to read.
    private let form: PlainCommand.Form
    private let (eventsPerMessage, mostBytes, bytesInFlight): (Int, Int, Int)
    private let ready: [UInt8]
    private let name: String
    private let stream: String
    private let subject: String
    private var context: OpaquePointer?
    private var batch: [UInt8] = []
    private var eventsInBatch = 0
    private var batchBegan = ContinuousClock.now
    private var sent = 0
    private let bytesWaiting = Atomic(0)
    private let acknowledgedEvents = Atomic(0)
    private let acknowledgedMessages = Atomic(0)
    private let acknowledgedBytes = Atomic(0)
    /// Messages that nobody took, and when they are to be sent again.
    private let failed = Mutex<[(message: Int, due: ContinuousClock.Instant)]>([])

    init(_ name: String, _ options: PlainCommand, ready: [UInt8]) throws {
      (form, self.name, self.ready, stream) = (options.form, name, ready, options.load.stream)
      (eventsPerMessage, mostBytes) = (options.eventsPerMessage, options.mostBytes)
      bytesInFlight = options.bytesInFlight
      subject = "\(stream).\(name).plain"
      var connection: OpaquePointer?
      var connecting: OpaquePointer?
      try Self.check(natsOptions_Create(&connecting), "the options")
      defer { natsOptions_Destroy(connecting) }
      let servers = options.load.servers.replacing("nats://", with: "").split(separator: ",").map { "nats://\($0)" }
      let texts = servers.map { strdup($0) }
      defer { for text in texts { free(text) } }
      var addresses = texts.map { UnsafePointer($0) }
      try Self.check(natsOptions_SetServers(connecting, &addresses, Int32(addresses.count)), "the servers")
      natsOptions_SetMaxReconnect(connecting, -1)
      natsOptions_SetReconnectWait(connecting, 250)
      try Self.check(natsConnection_Connect(&connection, connecting), options.load.servers)
      var publishing = jsOptions()
      jsOptions_Init(&publishing)
      publishing.PublishAsync.AckHandler = Self.answered
      publishing.PublishAsync.AckHandlerClosure = Unmanaged.passUnretained(self).toOpaque()
      try Self.check(natsConnection_JetStream(&context, connection, &publishing), "JetStream")
    }

    var acknowledged: Int { acknowledgedEvents.load(ordering: .relaxed) }
    var messages: Int { acknowledgedMessages.load(ordering: .relaxed) }
    var bytes: Int { acknowledgedBytes.load(ordering: .relaxed) }

    func make(_ count: Int) -> Int {
      guard form != .ready else {
        return publish(ready, events: eventsPerMessage) ? eventsPerMessage : 0
      }
      var left = count
      while left > 0 {
        if isFull, !leave() { break }
        let some = min(left, eventsPerMessage - eventsInBatch, (mostBytes - batch.count) / 160)
        if eventsInBatch == 0 { batchBegan = .now }
        let first = sent + eventsInBatch
        for number in first..<first + some {
          let sale = Sale(number: number)
          if form == .json { sale.appendJSON(to: &batch) } else { sale.appendBinary(to: &batch) }
        }
        eventsInBatch += some
        left -= some
      }
      return count - left
    }

    func tend() {
      let now = ContinuousClock.now
      let due = failed.withLock { failed in
        let due = failed.filter { $0.due <= now }
        failed.removeAll { $0.due <= now }
        return due
      }
      for (address, _) in due { send(OpaquePointer(bitPattern: address), id: nil) }
      if isFull || eventsInBatch > 0 && now - batchBegan >= PlainCommand.interval { _ = leave() }
    }

    private var isFull: Bool {
      eventsInBatch >= eventsPerMessage || batch.count + 160 > mostBytes
    }

    /// Sends the batch. Returns `false` if too much waits for its acknowledgement.
    private func leave() -> Bool {
      guard publish(batch, events: eventsInBatch) else { return false }
      batch.removeAll(keepingCapacity: true)
      eventsInBatch = 0
      return true
    }

    private func publish(_ body: [UInt8], events: Int) -> Bool {
      let waiting = bytesWaiting.load(ordering: .relaxed)
      guard waiting == 0 || waiting + body.count <= bytesInFlight else { return false }
      var message: OpaquePointer?
      let made = body.withUnsafeBytes {
        natsMsg_Create(&message, subject, nil, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
      }
      guard made == NATS_OK else { return false }
      bytesWaiting.add(body.count, ordering: .relaxed)
      send(message, id: "\(name)-\(sent)-\(events)")
      sent += events
      return true
    }

    /// Sends a message, for the first time with its id.
    private func send(_ message: OpaquePointer?, id: String?) {
      var message = message
      var publishing = jsPubOptions()
      jsPubOptions_Init(&publishing)
      publishing.MaxWait = 5_000
      let status =
        if let id {
          id.withCString { id in
            stream.withCString { stream in
              (publishing.MsgId, publishing.ExpectStream) = (id, stream)
              return js_PublishMsgAsync(context, &message, &publishing)
            }
          }
        } else {
          js_PublishMsgAsync(context, &message, &publishing)
        }
      if status != NATS_OK, let message { sendLater(message) }
    }

    private func sendLater(_ message: OpaquePointer) {
      let due = ContinuousClock.now + .milliseconds(250)
      failed.withLock { $0.append((Int(bitPattern: message), due)) }
    }

    private static func check(_ status: natsStatus, _ what: String) throws {
      guard status != NATS_OK else { return }
      throw BenchFailure(description: "\(what): \(String(cString: natsStatus_GetText(status)))")
    }

    private static let answered: jsPubAckHandler = { _, message, answer, _, closure in
      guard let message, let closure else { return }
      let host = Unmanaged<PlainHost>.fromOpaque(closure).takeUnretainedValue()
      guard answer != nil else { return host.sendLater(message) }
      var id: UnsafePointer<CChar>?
      natsMsgHeader_Get(message, "Nats-Msg-Id", &id)
      let events = id.flatMap { strrchr($0, CInt(UInt8(ascii: "-"))) }.map { atoi($0 + 1) } ?? 0
      let bytes = Int(natsMsg_GetDataLength(message))
      host.acknowledgedEvents.add(Int(events), ordering: .relaxed)
      host.acknowledgedMessages.add(1, ordering: .relaxed)
      host.acknowledgedBytes.add(bytes, ordering: .relaxed)
      host.bytesWaiting.subtract(bytes, ordering: .relaxed)
      natsMsg_Destroy(message)
    }
  }
#endif

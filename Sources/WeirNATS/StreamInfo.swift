// StreamInfo: what JetStream says of a stream.

#if NATS
  import WeirDelivery
  import WeirFleet

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Answers of JetStream, whose keys are in snake_case.
  enum JetStreamJSON {
    private static let decoder = {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      return decoder
    }()

    static func decode<Answer: Decodable>(_ type: Answer.Type, _ bytes: [UInt8]) throws -> Answer {
      try decoder.decode(type, from: Data(bytes))
    }
  }

  /// An error of JetStream.
  struct JetStreamError: Decodable {
    var code: Int?
    var errCode: Int?
    var description: String?

    var text: String { "\(description ?? "an error without a text") (\(code ?? 0), \(errCode ?? 0))" }
  }

  /// The answer to `$JS.API.STREAM.INFO`.
  struct StreamInfo: Decodable {
    struct Configuration: Decodable {
      var subjects: [String]?
      var storage: String?
      var retention: String?
      var numReplicas: Int?
      var noAck: Bool?
      var sealed: Bool?
      var maxMsgSize: Int?
      var duplicateWindow: Int64?
      var persistMode: String?
    }

    struct State: Decodable {
      var firstSeq: UInt64
      var lastSeq: UInt64
    }

    struct Cluster: Decodable {
      var leader: String?
    }

    var config: Configuration?
    var state: State?
    var created: String?
    var cluster: Cluster?
    var error: JetStreamError?

    /// There is no such stream.
    struct Missing: Error, CustomStringConvertible {
      let description: String
    }

    /// Asks for a stream. Throws ``Missing`` if there is none, and `DeliveryStopped` if there is no JetStream.
    static func ask(_ connection: NATSConnection, _ stream: String) throws -> StreamInfo {
      let bytes = try connection.ask("$JS.API.STREAM.INFO.\(stream)")
      let info: StreamInfo
      do {
        info = try JetStreamJSON.decode(StreamInfo.self, bytes)
      } catch {
        throw BrokerFailure("the answer about the stream \(stream) is no JSON of JetStream: \(error)")
      }
      guard let error = info.error else { return info }
      switch error.errCode {
      case 10_059:
        throw Missing(
          description: "there is no stream \(stream); make it, with the subjects \(stream).>, or name another one")
      case 10_039: throw DeliveryStopped("JetStream is not enabled for this user's account: \(error.text)")
      default: throw BrokerFailure("asking for the stream \(stream): \(error.text)")
      }
    }

    /// Makes a stream for parts on the disks of so many servers, unless it is there.
    static func make(_ connection: NATSConnection, _ stream: String, replicas: Int) throws {
      do {
        _ = try ask(connection, stream)
      } catch is Missing {
        let request =
          #"{"name":"\#(stream)","subjects":["\#(stream).>"],"storage":"file","num_replicas":\#(replicas),"#
          + #""retention":"limits","discard":"new","duplicate_window":120000000000}"#
        let bytes = try connection.ask("$JS.API.STREAM.CREATE.\(stream)", request)
        let error = try? JetStreamJSON.decode(StreamInfo.self, bytes).error
        if let error { throw DeliveryStopped("making the stream \(stream): \(error.text)") }
      }
    }

    /// The first tokens of subjects for messages to the stream. Throws `DeliveryStopped` if the stream takes no such
    /// subject.
    func subject(_ wanted: String?, of stream: String) throws -> String {
      let subjects = config?.subjects ?? []
      let open = subjects.filter { $0.hasSuffix(".>") }.map { String($0.dropLast(2)) }
      let prefix = wanted ?? open.first { $0 == stream } ?? open.first { !$0.contains("*") } ?? stream
      let tokens = prefix.split(separator: ".", omittingEmptySubsequences: false) + ["host", "opening"] as [Substring]
      guard subjects.isEmpty || subjects.contains(where: { Self.matches($0, tokens) }) else {
        throw DeliveryStopped(
          "the stream \(stream) takes the subjects \(subjects.joined(separator: ", ")), and not \(prefix).HOST.OPENING; "
            + "add \(prefix).> to it, or give the beginning of a subject that it takes")
      }
      return prefix
    }

    private static func matches(_ pattern: String, _ tokens: [Substring]) -> Bool {
      let parts = pattern.split(separator: ".", omittingEmptySubsequences: false)
      for (index, part) in parts.enumerated() {
        if part == ">" { return index < tokens.count }
        guard index < tokens.count, part == "*" || part == tokens[index] else { return false }
      }
      return parts.count == tokens.count
    }

    /// What an acknowledgement promises. Servers do not say when they sync: by default every two minutes.
    var durability: String {
      guard let config else { return "unknown" }
      let count = config.numReplicas ?? 1
      let quorum = count / 2 + 1
      let nodes = count == 1 ? "1 server" : "\(quorum) of \(count) servers"
      if config.storage == "memory" {
        return "in the memory of \(nodes)" + (count == 1 ? "; gone when it restarts" : "; gone when \(quorum) restart")
      }
      if config.persistMode == "async" { return "on \(nodes), acknowledged before it is written" }
      return "written by \(nodes); synced every two minutes, or as the servers' sync_interval says"
    }
  }
#endif

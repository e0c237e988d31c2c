// OTLPLogsPreset: events as OpenTelemetry log records, over HTTP with JSON.

#if HTTP
  public import WeirDelivery
  import Weir

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Sends events as OpenTelemetry log records: OTLP over HTTP with JSON, `/v1/logs`.
  ///
  /// The specification recommends a limit of 20 MiB for a request. The default here is 4 MiB and 1,000 records.
  ///
  /// | log record | event |
  /// |---|---|
  /// | `timeUnixNano`, `observedTimeUnixNano` | time of the capture |
  /// | `eventName`, `body` | name |
  /// | `severityNumber` | 9, `INFO` |
  /// | attributes `log.record.uid`, `weir.offset` | id and offset |
  /// | attributes `user.id`, `user.` and a trait's name | user and traits |
  /// | other attributes | fields, bound fields, view, global fields and annotations, typed |
  ///
  /// As the specification requires, only 429, 502, 503 and 504 are retried. Other errors refuse the batch, and a wrong
  /// key or address stops delivery. A **partial success** is never sent again. It has the number of refused records,
  /// and does not name them. If all records were refused, they are rejected. Otherwise ``UnnamedRejections`` decides.
  /// OpenTelemetry has no records of users, so each event has its user's traits. Receivers may drop a record with a
  /// repeated `log.record.uid`, but few do.
  public struct OTLPLogsPreset: HTTPPreset {
    /// The verdict for a batch of which some records were refused without being named.
    public enum UnnamedRejections: Hashable, Sendable {
      /// All records count as accepted. ``HTTPCounts/unnamedRejections`` counts the refused ones, and the log has the
      /// reason.
      case accepted
      /// All records are rejected and become dead letters, including those that the receiver has accepted.
      case rejected
    }

    public let providerName = "otlp"
    public let endpoint: String
    public let path = "/v1/logs"
    public let limits: HTTPLimits

    private let serviceName: String
    private let authorization: HTTPHeader?
    private let unnamedRejections: UnnamedRejections
    private let opening: String

    /// Creates a preset for an OTLP receiver.
    ///
    /// - Parameters:
    ///   - endpoint: The address. A collector on the same machine has port 4318.
    ///   - serviceName: The resource attribute `service.name`.
    ///   - authorization: A header such as `.bearer(key)`; `nil` for none.
    ///   - unnamedRejections: The verdict for a batch of which some records were refused.
    ///   - limits: The limits of a request.
    public init(
      endpoint: String = "http://127.0.0.1:4318", serviceName: String = "weir", authorization: HTTPHeader? = nil,
      unnamedRejections: UnnamedRejections = .accepted, limits: HTTPLimits = HTTPLimits()
    ) {
      self.endpoint = endpoint
      self.serviceName = serviceName
      self.authorization = authorization
      self.unnamedRejections = unnamedRejections
      self.limits = limits
      var name: [UInt8] = []
      EventJSON().append(serviceName, to: &name)
      opening =
        #"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"#
        + String(decoding: name, as: UTF8.self)
        + #"}}]},"scopeLogs":[{"scope":{"name":"weir"},"logRecords":["#
    }

    public var secrets: [Secret] { [authorization?.value].compactMap { $0 } }

    public func encode(_ event: PreparedEvent) throws -> [UInt8] {
      // The number is unsigned, and 0 means unknown. A time before 1970 can only be an attribute.
      let nanoseconds = max(event.stored.time.nanosecondsSince1970, 0)
      var record = JSONObject(EventJSON())
      record.add("timeUnixNano", "\(nanoseconds)")
      // The capture is the observation. Receivers that sort by this time treat a missing one as the year 1970.
      record.add("observedTimeUnixNano", "\(nanoseconds)")
      record.add("severityNumber", .int(9))
      record.add("severityText", "INFO")
      record.add("eventName", event.name)
      record.add("body", json: AnyValue.bytes(.string(event.name)))
      var attributes: [UInt8] = [UInt8(ascii: "[")]
      AnyValue.appendAttribute("log.record.uid", .string(event.stored.id.description), to: &attributes)
      attributes.append(UInt8(ascii: ","))
      AnyValue.appendAttribute("weir.offset", .uint(event.stored.offset), to: &attributes)
      var others: [FieldObject.Member] = []
      if let user = event.context.user, !user.id.isEmpty {
        others.append(.init(name: "user.id", value: .string(user.id)))
        for trait in user.traits.withUniqueNames where trait.name != "id" {
          others.append(.init(name: "user.\(trait.name)", value: trait.value))
        }
      }
      if event.stored.time.nanosecondsSince1970 < 0 {
        others.append(.init(name: "weir.time", value: .string(event.stored.time.description)))
      }
      let reserved = ["log.record.uid", "weir.offset", "weir.time", "user.id"] + others.map(\.name)
      for member in others + event.properties(reserved: reserved) {
        attributes.append(UInt8(ascii: ","))
        AnyValue.appendAttribute(member.name, member.value, to: &attributes)
      }
      attributes.append(UInt8(ascii: "]"))
      record.add("attributes", json: attributes)
      return record.bytes()
    }

    public func post(_ batch: HTTPBatch) -> HTTPPost {
      HTTPPost(
        headers: [.json] + [authorization].compactMap { $0 },
        body: batch.body(open: opening, separator: ",", close: "]}]}]}"))
    }

    public func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
      switch answer.status {
      case 200...299:
        // Some receivers omit the empty object.
        return answer.body.isEmpty ? HTTPReading(.accepted, count: batch.count) : try partial(answer, batch)
      case 429, 502, 503, 504: return try answer.toBeRetried(batch)
      case 408, 409, 425, 500, 506...599: throw answer.refusal
      default: return try answer.standardReading(of: batch)
      }
    }

    private func partial(_ answer: HTTPAnswer, _ batch: HTTPBatch) throws -> HTTPReading {
      var reading = try answer.acknowledgedWithObject(batch)
      guard let partial = answer.json?["partialSuccess"] else { return reading }
      let message = partial["errorMessage"]?.text ?? ""
      let refused = partial["rejectedLogRecords"]?.integer ?? 0
      switch refused {
      case ...0: reading.notice = message.isEmpty ? nil : message
      case batch.count...:
        reading = HTTPReading(.rejected(message.isEmpty ? "refused" : message), count: batch.count)
      default:
        let what = "\(refused) of \(batch.count) records were refused, the receiver does not say which"
        if unnamedRejections == .rejected {
          return HTTPReading(.rejected("\(what): \(message)"), count: batch.count)
        }
        reading.unnamedRejections = refused
        reading.notice = message
      }
      return reading
    }
  }

  /// A value with its OpenTelemetry type, in Protobuf's JSON.
  private enum AnyValue {
    /// `{"key":…,"value":…}`.
    static func appendAttribute(_ name: String, _ value: FieldValue, to bytes: inout [UInt8]) {
      bytes += #"{"key":"#.utf8
      EventJSON().append(name, to: &bytes)
      bytes += #","value":"#.utf8
      append(value, to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }

    static func bytes(_ value: FieldValue) -> [UInt8] {
      var bytes: [UInt8] = []
      append(value, to: &bytes)
      return bytes
    }

    private static func append(_ value: FieldValue, to bytes: inout [UInt8]) {
      switch value {
      case .null: bytes += "{}".utf8
      case .bool: append("boolValue", value, to: &bytes)
      // Protobuf's JSON writes 64-bit integers as text.
      case .int(let number): append("intValue", .string("\(number)"), to: &bytes)
      case .uint(let number):
        let name = number <= UInt64(Int64.max) ? "intValue" : "stringValue"
        append(name, .string("\(number)"), to: &bytes)
      case .float, .double: append("doubleValue", value, to: &bytes)
      case .string: append("stringValue", value, to: &bytes)
      case .uuid, .date: append(value, asTextIn: &bytes)
      case .bytes: append("bytesValue", value, to: &bytes)
      case .array(let values):
        bytes += #"{"arrayValue":{"values":["#.utf8
        for (index, value) in values.enumerated() {
          if index > 0 { bytes.append(UInt8(ascii: ",")) }
          append(value, to: &bytes)
        }
        bytes += "]}}".utf8
      case .object(let members):
        bytes += #"{"kvlistValue":{"values":["#.utf8
        for (index, member) in members.enumerated() {
          if index > 0 { bytes.append(UInt8(ascii: ",")) }
          appendAttribute(member.name, member.value, to: &bytes)
        }
        bytes += "]}}".utf8
      }
    }

    private static func append(_ name: String, _ value: FieldValue, to bytes: inout [UInt8]) {
      bytes += "{\"\(name)\":".utf8
      EventJSON().append(value, to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }

    /// Appends a value as ``EventJSON`` writes it: as text, except for a date beyond the calendar, which is a number.
    private static func append(_ value: FieldValue, asTextIn bytes: inout [UInt8]) {
      var text: [UInt8] = []
      EventJSON().append(value, to: &text)
      bytes += (text.first == UInt8(ascii: "\"") ? #"{"stringValue":"# : #"{"doubleValue":"#).utf8
      bytes += text
      bytes.append(UInt8(ascii: "}"))
    }
  }
#endif

// Samples: events, batches and answers of these tests.

#if HTTP
  import Foundation
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  /// An event with a fixed id and time, by its number.
  func sampleEvent(
    _ number: Int = 0, name: String = "checkout.completed", _ fields: FieldObject = ["order": 7],
    user: EventUser? = EventUser(id: "u1"), kind: EventKind? = nil
  ) -> PreparedEvent {
    let declaration = kind.map { EventType(name, [], kind: $0) }
    return PreparedEvent(
      StoredEvent(
        offset: Offset(number), id: EventID(opening: 0x0123_4567_89ab_cdef, sequence: UInt64(number)),
        time: Timestamp(nanosecondsSince1970: 1_763_683_200_123_456_789), name: name, fields: fields,
        declaration: declaration, context: EventContext(user: user)))
  }

  extension HTTPPresetName {
    /// The preset, as plans and the tool make it. Google's takes the samples, whose time is fixed and long ago.
    func sample(endpoint: String, key: Secret = Secret("key-12345"), project: String = "") throws -> any HTTPPreset {
      guard self == .ga4 else { return try preset(endpoint: endpoint, key: key, project: project) }
      return GA4Preset(
        stream: .web(measurementID: "G-SHOP"), apiSecret: key, endpoint: endpoint,
        now: { Timestamp(nanosecondsSince1970: 0) })
    }
  }

  extension HTTPConfiguration {
    /// For tests that are not about time, on machines that are busy with others.
    static var patient: HTTPConfiguration {
      var patient = HTTPConfiguration()
      patient.connectTimeout = .seconds(600)
      patient.readTimeout = .seconds(600)
      patient.timeout = .seconds(600)
      patient.callTime = .seconds(600)
      return patient
    }
  }

  func sampleID(_ number: Int) -> String { sampleEvent(number).stored.id.description }

  /// A batch of so many events, as `preset` encodes them.
  func sampleBatch(_ count: Int, for preset: some HTTPPreset) throws -> HTTPBatch {
    let events = (0..<count).map { sampleEvent($0) }
    return HTTPBatch(events: events, encoded: try events.map { try preset.encode($0) })
  }

  func answer(_ status: Int, _ body: String = "", _ headers: (String, String)...) -> HTTPAnswer {
    HTTPAnswer(status: status, headers: headers, body: Array(body.utf8))
  }

  /// What a preset makes of an answer to a batch, in short: verdicts, or what is thrown.
  enum Outcome: Hashable, CustomStringConvertible {
    case verdicts([Verdict])
    case unnamed(Int)
    case refused
    case stopped
    case failed

    init(_ preset: some HTTPPreset, _ answer: HTTPAnswer, events: Int = 3) throws {
      let batch = try sampleBatch(events, for: preset)
      do {
        let reading = try preset.read(answer, of: batch)
        self = reading.unnamedRejections > 0 ? .unnamed(reading.unnamedRejections) : .verdicts(reading.verdicts)
      } catch is BatchRefused {
        self = .refused
      } catch is DeliveryStopped {
        self = .stopped
      } catch is HTTPFailure {
        self = .failed
      }
    }

    static let accepted = Outcome.verdicts([.accepted, .accepted, .accepted])

    static func retry(_ seconds: Int) -> Outcome {
      .verdicts(Array(repeating: .retry(after: .seconds(seconds)), count: 3))
    }

    var description: String {
      switch self {
      case .verdicts(let verdicts): "\(verdicts)"
      case .unnamed(let count): "accepted, \(count) refused without a name"
      case .refused: "refused"
      case .stopped: "stopped"
      case .failed: "failed"
      }
    }
  }

  /// JSON as it is meant, whatever its order of keys.
  func json(_ text: String) -> NSObject? {
    try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed) as? NSObject
  }

  func json(_ bytes: [UInt8]) -> NSObject? { json(String(decoding: bytes, as: UTF8.self)) }

  /// What a call throws; nil if it does not.
  func thrown(_ body: () async throws -> some Any) async -> (any Error)? {
    do {
      _ = try await body()
      return nil
    } catch {
      return error
    }
  }
#endif

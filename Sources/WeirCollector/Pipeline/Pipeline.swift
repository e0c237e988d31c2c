// Pipeline: what the collector has, as JSON, for developers: /_weir/events and its like.

#if Collector
  import WeirJSON
  import WeirContracts
  import Weir

  final class Pipeline: Sendable {
    /// Says yes to everything, and keeps nothing: whoever follows a redirect loses events.
    static let redirectedPath = "/_weir/redirected"
    private static let mostEvents = 1_000
    /// The longest body that tells the collector how to fail.
    private static let orderBytes = 64 << 10
    /// How many events one request looks through for those of a name.
    private static let mostLookedAt = 200_000

    private let store: Store
    private let faults: FaultDraw
    private let reader: StatisticsReader

    init(_ store: Store, _ faults: FaultDraw) {
      self.store = store
      self.faults = faults
      reader = StatisticsReader(store)
    }

    func statistics() async throws -> CollectorStatistics {
      var statistics = try await reader.current()
      statistics.faults = faults.counts
      statistics.violations = try store.inspected().violations
      return statistics
    }

    func answer(method: String, path: String, query: [String: String], body: [UInt8]) async -> Answer {
      do {
        switch (method, path) {
        case ("GET", "/_weir"), ("GET", "/_weir/"): return .json(200, Self.endpoints)
        case ("GET", "/_weir/health"): return .json(200, ["status": "ok", "directory": .string(store.directory)])
        case ("GET", "/_weir/stats"): return .json(200, try await statistics().json)
        case ("GET", "/_weir/events"): return try page(store.directory, query) { CollectedEvent($0)?.json }
        case ("GET", "/_weir/rejected"): return try page(store.rejectedDirectory, query) { RejectedEvent($0)?.json }
        case ("GET", "/_weir/violations"):
          try await store.inspect()
          return try page(store.violationsDirectory, query) { try LoggedViolation($0)?.json(in: $0) }
        case ("GET", "/_weir/faults"): return .json(200, faults.faults.json)
        case ("POST", "/_weir/faults"):
          guard body.count <= Self.orderBytes else { return .json(413, ["error": "the body is too long"]) }
          let wanted = try Faults(json: body)
          faults.set(wanted)
          return .json(200, wanted.json)
        case (_, Self.redirectedPath): return .json(200, ["success": true, "status": 1])
        case (_, let path) where Self.endpoints.contains { $0.name == path }:
          return .json(405, ["error": .string("\(path) does not take \(method)")])
        default: return .json(404, ["error": "there is no such endpoint", "endpoints": .object(Self.endpoints)])
        }
      } catch let error as CollectorError {
        return .json(400, ["error": .string(error.message)])
      } catch let error as WeirError {
        return .json(500, ["error": .string(error.message)])
      } catch {
        return .json(500, ["error": .string("\(error)")])
      }
    }

    private static let endpoints: FieldObject = [
      "/_weir/health": "GET: whether it runs", "/_weir/stats": "GET: what it took and refused, in numbers",
      "/_weir/events": "GET: what it took; after, limit and name say which",
      "/_weir/rejected": "GET: what it did not take, and why; after and limit say which",
      "/_weir/violations": "GET: what is against the contract; after, limit and name say which",
      "/_weir/faults": "GET, POST: how it fails, {\"faults\":\"status=500:0.1\",\"seed\":7}",
    ]

    /// A page of a log: the events behind the offset `after`, at most `limit`, those of one `name` alone.
    private func page(
      _ directory: String, _ query: [String: String], _ json: (StoredEvent) throws -> FieldObject?
    ) throws -> Answer {
      let after = try Self.number("after", query, in: 0...UInt64.max - 1)
      let limit = Int(try Self.number("limit", query, in: 1...UInt64(Self.mostEvents)) ?? 100)
      let from = after.map { $0 + 1 } ?? 0
      try store.drain()
      var events: [FieldValue] = []
      var next = from
      var lookedAt = 0
      if let reader = try store.reader(of: directory, from: from) {
        while events.count < limit, lookedAt < Self.mostLookedAt, let stored = try reader.next() {
          lookedAt += 1
          next = stored.offset + 1
          guard let event = try json(stored) else { continue }
          if let name = query["name"], event["name"] != .string(name) { continue }
          events.append(.object(event))
        }
      }
      // What to ask with for the next page: the same as before if nothing came.
      let last: FieldValue = next > 0 ? .uint(next - 1) : .null
      return .json(200, ["events": .array(events), "after": last])
    }

    private static func number(
      _ name: String, _ query: [String: String], in range: ClosedRange<UInt64>
    ) throws -> UInt64? {
      guard let text = query[name] else { return nil }
      guard let number = UInt64(text), range.contains(number) else {
        throw CollectorError("\(name) is \(text.cut(to: 40)); it must be \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
  }

  extension CollectedEvent {
    fileprivate var json: FieldObject {
      [
        "offset": offset.map { .uint($0) } ?? .null, "received": received.map { .string($0.description) } ?? .null,
        "vendor": .string(vendor), "id": id.map { .string($0) } ?? .null,
        "time": time.map { .string($0.description) } ?? .null, "name": .string(name),
        "type": type.map { .string($0) } ?? .null, "user": user.map { .string($0) } ?? .null,
        "properties": .object(properties), "context": .object(context),
      ]
    }
  }

  extension RejectedEvent {
    fileprivate var json: FieldObject {
      [
        "offset": offset.map { .uint($0) } ?? .null, "received": received.map { .string($0.description) } ?? .null,
        "vendor": .string(vendor), "index": index.map { .int(Int64($0)) } ?? .null,
        "id": id.map { .string($0) } ?? .null, "field": .string(field), "reason": .string(reason),
        "text": .string(text),
      ]
    }
  }

  extension LoggedViolation {
    fileprivate func json(in stored: StoredEvent) -> FieldObject {
      [
        "offset": .uint(stored.offset), "event": .uint(offset), "name": .string(event),
        "field": .string(CollectedContract.original(field)), "rule": .string(rule), "value": value,
        "contract": .string(contract), "version": .string(version),
      ]
    }
  }

  extension Faults {
    var json: FieldObject {
      ["faults": .string(list.map(\.description).joined(separator: ",")), "seed": .uint(seed)]
    }

    /// Reads `{"faults":"status=500:0.1","seed":7}`.
    init(json body: [UInt8]) throws {
      guard case .object(let object)? = try? JSONReader.read(body.span, limits: .init(depth: 2)),
        let text = object.text("faults")
      else { throw CollectorError("the body is to be such as {\"faults\":\"status=500:0.1,cut:0.05\",\"seed\":7}") }
      let seed: UInt64
      switch object["seed"] {
      case nil, .null?: seed = 0
      case .int(let number)? where number >= 0: seed = UInt64(number)
      case .uint(let number)?: seed = number
      default: throw CollectorError("seed is to be a whole number, not below 0")
      }
      try self.init(text, seed: seed)
    }
  }
#endif

// CollectorStatistics: what a collector took and refused, counted in its logs.

#if Collector
  package import Weir

  /// What a collector took and refused, in numbers.
  ///
  /// Counted in the logs themselves, so nothing that a kill interrupted is missing, and earlier runs are in it.
  package struct CollectorStatistics: Hashable, Sendable {
    /// How many names and vendors are told apart; events of further ones are counted as ``others``.
    package static let maximumKinds = 10_000
    /// How many ids are remembered to find those that come again; beyond it none are found.
    package static let maximumIDs = 4_000_000

    /// Events in the log: those that came again, too.
    package var events: UInt64 = 0
    /// Different ids among them, of each vendor for itself.
    package var ids: UInt64 = 0
    /// Events whose id was there before.
    package var duplicates: UInt64 = 0
    /// Events without an id.
    package var withoutID: UInt64 = 0
    /// There were more than ``maximumIDs`` ids: ``ids`` and ``duplicates`` are of the first of them.
    package var hasTooManyIDs = false
    /// Events by vendor.
    package var vendors: [String: UInt64] = [:]
    /// Events by name.
    package var names: [String: UInt64] = [:]
    /// Events of further names.
    package var others: UInt64 = 0
    /// Events and bodies that were not taken, as often as they came.
    package var rejected: UInt64 = 0
    /// Of them, by reason.
    package var reasons: [String: UInt64] = [:]
    /// Events below this offset of the log are counted.
    package var offset: Offset = 0
    /// How often each kind of fault happened since the start.
    package var faults: [String: UInt64] = [:]
    /// Violations of the contract since the start.
    package var violations: UInt64 = 0
  }

  /// Counts what is new in the logs at each call.
  actor StatisticsReader {
    /// An id in 16 bytes, so that millions of them take some tens of megabytes. Two ids of one hash are not to be
    /// expected below 10^18 of them.
    private struct IDHash: Hashable {
      let first: Int
      let second: Int

      init(_ id: String, of vendor: String) {
        var hasher = Hasher()
        hasher.combine(vendor)
        hasher.combine(id)
        first = hasher.finalize()
        hasher = Hasher()
        hasher.combine(id)
        hasher.combine(vendor)
        second = hasher.finalize()
      }
    }

    private let store: Store
    private var statistics = CollectorStatistics()
    private var ids: Set<IDHash> = []
    private var events: EventReader?
    private var rejected: EventReader?

    init(_ store: Store) {
      self.store = store
    }

    func current() throws -> CollectorStatistics {
      try store.drain()
      if events == nil { events = try store.reader(of: store.directory, from: 0) }
      if rejected == nil { rejected = try store.reader(of: store.rejectedDirectory, from: 0) }
      while let stored = try events?.next() {
        statistics.offset = stored.offset + 1
        if let event = CollectedEvent(stored) { count(event) }
      }
      while let stored = try rejected?.next() {
        guard let event = RejectedEvent(stored) else { continue }
        statistics.rejected += 1
        add(event.reason, to: \.reasons)
      }
      return statistics
    }

    private func count(_ event: CollectedEvent) {
      statistics.events += 1
      add(event.vendor, to: \.vendors)
      if !add(event.name, to: \.names) { statistics.others += 1 }
      guard let id = event.id else {
        statistics.withoutID += 1
        return
      }
      let hash = IDHash(id, of: event.vendor)
      if ids.count >= CollectorStatistics.maximumIDs {
        statistics.hasTooManyIDs = true
      } else if ids.insert(hash).inserted {
        statistics.ids += 1
      } else {
        statistics.duplicates += 1
      }
    }

    @discardableResult
    private func add(_ key: String, to counts: WritableKeyPath<CollectorStatistics, [String: UInt64]>) -> Bool {
      guard
        statistics[keyPath: counts][key] != nil || statistics[keyPath: counts].count < CollectorStatistics.maximumKinds
      else { return false }
      statistics[keyPath: counts][key, default: 0] += 1
      return true
    }
  }

  extension CollectorStatistics {
    /// As the endpoint `/_weir/stats` shows it.
    var json: FieldObject {
      [
        "events": .uint(events), "ids": .uint(ids), "duplicates": .uint(duplicates), "without_id": .uint(withoutID),
        "too_many_ids": .bool(hasTooManyIDs), "vendors": Self.object(vendors), "names": Self.object(names),
        "others": .uint(others), "rejected": .uint(rejected), "reasons": Self.object(reasons), "offset": .uint(offset),
        "faults": Self.object(faults), "violations": .uint(violations),
      ]
    }

    private static func object(_ counts: [String: UInt64]) -> FieldValue {
      .object(FieldObject(counts.sorted { $0.key < $1.key }.map { ($0.key, .uint($0.value)) }))
    }
  }
#endif

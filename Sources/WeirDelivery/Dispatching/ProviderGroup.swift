// ProviderGroup: several providers as one.

public import Weir

/// Several providers under one name: an event is accepted when all of them have accepted it.
///
/// ```swift
/// try dispatcher.add(ProviderGroup("warehouses", [europe, america]))
/// ```
///
/// The group has one cursor. So its members always have the same events, and the slowest member determines the pace. To
/// let each provider go at its own pace, add the providers to the dispatcher one by one.
///
/// **Verdicts.** An event that one member rejects is rejected, with the member's name in the reason; the other members
/// get the event all the same. An event that one member retries is retried, and only at the members that have not
/// decided it. What the members have decided is kept in memory: after a restart, all members get the undecided events
/// again, with the same ids.
///
/// The members' own mappers apply, each to the members' events only. A member for which its mapper withholds an event
/// has decided it.
public final class ProviderGroup: Provider, Sendable {
  /// The name of the group and its cursor.
  public let name: String

  private let members: [(provider: any Provider, mapper: EventMapper)]
  /// The users of whom members have yet to be told, because a member's mapper withheld the event that told.
  private let untold = Lock<[Int: Set<String>]>([:])
  /// The members' decisions on events that the group has not decided.
  private let decided = Lock<[EventID: [Int: Verdict]]>([:])

  /// Creates a group. Members are called in this order.
  public init(_ name: String, _ members: [any Provider]) {
    self.name = name
    self.members = members.map { ($0, $0.attachedMapper) }
  }

  public func setup() async throws {
    for member in members { try await member.provider.setup() }
  }

  public func associate(_ user: EventUser) async throws {
    for member in members {
      if let user = member.mapper.associated(user) {
        try await member.provider.associate(user)
      } else {
        try await member.provider.disassociate()
      }
    }
  }

  public func disassociate() async throws {
    for member in members { try await member.provider.disassociate() }
  }

  public func identify(_ user: EventUser) async throws {
    for member in members {
      guard let mapped = member.mapper.mapped(user) else { continue }
      // What one member never accepts, the others are told all the same.
      do { try await member.provider.identify(mapped) } catch is BatchRefused {}
    }
  }

  /// Delivers events to each member that has not decided them. Throws a member's error if all events must come again.
  public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    var failure: (any Error)?
    for index in members.indices {
      do {
        try await deliver(events, to: index)
      } catch {
        failure = failure ?? error
      }
      if Task.isCancelled { break }
    }
    let verdicts = decided.withLock { decided in events.map { verdict(on: decided[$0.stored.id] ?? [:]) } }
    if let failure, verdicts.allSatisfy({ $0.isRetry }) { throw failure }
    decided.withLock { decided in
      for (event, verdict) in zip(events, verdicts) where !verdict.isRetry { decided[event.stored.id] = nil }
    }
    return verdicts
  }

  public func shutdown() async {
    for member in members { await member.provider.shutdown() }
  }

  private func deliver(_ events: [PreparedEvent], to index: Int) async throws {
    let mapper = members[index].mapper
    let undecided = decided.withLock { decided in
      events.filter { decided[$0.stored.id]?[index]?.isRetry ?? true }
    }
    var given: [PreparedEvent] = []
    // Of each user that an event of this batch tells of, the last such event.
    var telling: [String: EventID] = [:]
    defer { noteTold(telling, index) }
    for event in undecided {
      let user = event.context.user?.id ?? ""
      if var mapped = mapper(event) {
        // The event that told of the user was not for this member. One event of the batch tells.
        let isUntold = telling[user] == nil && untold.withLock { $0[index]?.contains(user) ?? false }
        mapped.identifies = mapped.identifies || isUntold
        if mapped.identifies { telling[user] = mapped.stored.id }
        given.append(mapped)
      } else {
        if event.identifies {
          telling[user] = nil
          _ = untold.withLock { $0[index, default: []].insert(user) }
        }
        withhold(event, index)
      }
    }
    if !given.isEmpty { try await give(given[...], to: index) }
  }

  /// Delivers to a member. A batch that the member refuses is halved, until the refused event is alone.
  private func give(_ events: ArraySlice<PreparedEvent>, to index: Int) async throws {
    let provider = members[index].provider
    do {
      let verdicts = try await provider.deliver(Array(events))
      guard verdicts.count == events.count else {
        throw GroupFailure("\(provider.name) returned \(verdicts.count) verdicts for \(events.count) events")
      }
      decide(events, verdicts, index)
    } catch let refused as BatchRefused {
      guard events.count > 1 else { return decide(events, [.rejected(refused.reason)], index) }
      let middle = events.startIndex + events.count / 2
      try await give(events[..<middle], to: index)
      try await give(events[middle...], to: index)
    }
  }

  private func decide(_ events: ArraySlice<PreparedEvent>, _ verdicts: [Verdict], _ index: Int) {
    let name = members[index].provider.name
    decided.withLock { decided in
      for (event, verdict) in zip(events, verdicts) {
        var verdict = verdict
        if case .rejected(let reason) = verdict { verdict = .rejected("\(name): \(reason)") }
        decided[event.stored.id, default: [:]][index] = verdict
      }
    }
  }

  /// Notes of which users the member has been told, by an event that the member accepted. The users are those before the
  /// member's mapper.
  private func noteTold(_ telling: [String: EventID], _ index: Int) {
    guard !telling.isEmpty else { return }
    let told = decided.withLock { decided in telling.filter { decided[$0.value]?[index] == .accepted }.keys }
    untold.withLock { $0[index]?.subtract(told) }
  }

  /// Notes that the member's mapper withheld an event.
  private func withhold(_ event: PreparedEvent, _ index: Int) {
    decided.withLock { $0[event.stored.id, default: [:]][index] = .accepted }
  }

  private func verdict(on decisions: [Int: Verdict]) -> Verdict {
    var waits: Duration?
    for index in members.indices {
      guard case .retry(let after)? = decisions[index] else { continue }
      if let after { waits = max(waits ?? .zero, after) }
    }
    guard members.indices.allSatisfy({ decisions[$0]?.isRetry == false }) else { return .retry(after: waits) }
    let rejection = members.indices.lazy.compactMap { decisions[$0] }.first { $0 != .accepted }
    return rejection ?? .accepted
  }
}

/// The error of a member that did not keep to the protocol.
private struct GroupFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

extension Verdict {
  fileprivate var isRetry: Bool { if case .retry = self { true } else { false } }
}

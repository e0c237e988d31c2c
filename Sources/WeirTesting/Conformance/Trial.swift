// Trial: one check of a provider, with the functions that checks share: giving events, and comparing verdicts and
// entries.

import Weir
import WeirDelivery

/// One check of one provider.
struct Trial<P: Provider>: Sendable {
  typealias Check = ProviderConformance.Check
  typealias Entry = ProviderConformance.Entry

  let check: Check
  let claims: Set<ProviderConformance.Claim>
  let unacceptable: (name: String, fields: FieldObject)?
  let notes: ProviderConformance.Notes
  let make: @Sendable () async throws -> P
  let look: (@Sendable (P) async throws -> [Entry])?

  /// The events of this check. No other check uses them.
  let sample = SampleEvents()

  /// How often an event is given before it counts as never accepted.
  static var tries: Int { 5 }

  func found(_ message: String, in check: Check? = nil) {
    notes.add(ProviderConformance.Finding(check: check ?? self.check, message: message))
  }

  /// Makes a provider and sets it up. Returns `nil`, after noting a finding, if that fails.
  func provider() async -> P? {
    do {
      let provider = try await make()
      for trial in 1... {
        do {
          try await provider.setup()
          break
        } catch {
          if trial == Self.tries { throw error }
        }
      }
      return provider
    } catch {
      found("the provider could not be made, or its setup failed \(Self.tries) times: \(error)", in: .setup)
      return nil
    }
  }

  // MARK: Giving

  /// Calls the provider once. Returns `nil`, after noting a finding, unless there is one verdict for each event.
  func deliver(_ events: [PreparedEvent], to provider: P) async throws -> [Verdict]? {
    let verdicts = try await provider.deliver(events)
    guard verdicts.count == events.count else {
      found("\(verdicts.count) verdicts for \(events.count) events", in: .verdictCount)
      return nil
    }
    for verdict in verdicts {
      switch verdict {
      case .rejected(let reason) where reason.isEmpty: found("a rejection without a reason", in: .verdictValues)
      case .retry(let time?) where time < .zero: found("a retry after \(time)", in: .verdictValues)
      default: break
      }
    }
    return verdicts
  }

  /// Gives events, and repeats those with a retry, until each is accepted or rejected. Returns `nil` if the verdicts
  /// are unknown. An event that is never decided on is a finding.
  func decide(_ events: [PreparedEvent], by provider: P, _ what: String = "events") async -> [EventID: Verdict]? {
    var decided: [EventID: Verdict] = [:]
    var rest = events
    var failure: (any Error)?
    for _ in 1...Self.tries where !rest.isEmpty {
      do {
        guard let verdicts = try await deliver(rest, to: provider) else { return nil }
        for (event, verdict) in zip(rest, verdicts) { decided[event.stored.id] = verdict }
        failure = nil
      } catch let refusal as BatchRefused {
        // As delivery does, the batch is halved until the refused event is alone.
        guard let verdicts = await split(rest, refusal, by: provider, what) else { return nil }
        decided.merge(verdicts) { $1 }
        failure = nil
      } catch let stop as DeliveryStopped {
        found("\(what) stop delivery until somebody intervenes: \(stop.reason)")
        return nil
      } catch {
        failure = error
      }
      rest = rest.filter { event in
        if case .retry = decided[event.stored.id] ?? .retry(after: nil) { return true }
        return false
      }
    }
    if !rest.isEmpty {
      let why = failure.map { "the call threw: \($0)" } ?? "the verdict was to retry"
      found("\(rest.count) of \(events.count) \(what) neither accepted nor rejected after \(Self.tries) tries; \(why)")
      return nil
    }
    return decided
  }

  /// Decides on a batch that was refused as a whole.
  private func split(
    _ events: [PreparedEvent], _ refusal: BatchRefused, by provider: P, _ what: String
  ) async -> [EventID: Verdict]? {
    if refusal.reason.isEmpty { found("a refusal without a reason", in: .verdictValues) }
    guard events.count > 1 else {
      return Dictionary(uniqueKeysWithValues: events.map { ($0.stored.id, .rejected(refusal.reason)) })
    }
    let middle = events.count / 2
    guard let first = await decide(Array(events[..<middle]), by: provider, what),
      let second = await decide(Array(events[middle...]), by: provider, what)
    else { return nil }
    return first.merging(second) { $1 }
  }

  /// Gives events that every provider accepts. Returns `false`, after noting a finding, if one is not accepted.
  @discardableResult
  func accept(_ events: [PreparedEvent], by provider: P, _ what: String = "events") async -> Bool {
    guard let verdicts = await decide(events, by: provider, what) else { return false }
    for case .rejected(let reason) in verdicts.values {
      found("\(what) are rejected, although they are valid: \(reason)")
      return false
    }
    return true
  }

  // MARK: Looking

  /// Returns this check's events that the provider has, and all associations, in order; `nil` if that is unknown.
  func entries(of provider: P) async -> [Entry]? {
    guard let look else { return nil }
    do {
      return try await look(provider).filter { entry in
        if case .event(let id, _) = entry { return id.opening == sample.opening }
        return true
      }
    } catch {
      found("delivered throws: \(error)")
      return nil
    }
  }

  /// Returns the ids of this check's events that the provider has, in order, including repetitions.
  func ids(in provider: P) async -> [EventID]? {
    await entries(of: provider)?.compactMap { entry in
      if case .event(let id, _) = entry { return id }
      return nil
    }
  }

  /// Checks that the provider has these accepted events.
  func lookFor(_ events: [PreparedEvent], in provider: P, _ what: String = "") async {
    guard let ids = await ids(in: provider) else { return }
    let there = Set(ids)
    let missing = events.filter { !there.contains($0.stored.id) }
    if let first = missing.first {
      found("\(missing.count) of \(events.count) accepted events are missing\(what), first \(first.stored)")
    }
  }

  /// Checks that the provider has each event once, if it claims that.
  func lookForRepetitions(in provider: P) async {
    guard claims.contains(.keepsOnce), let ids = await ids(in: provider) else { return }
    let repeated = Dictionary(grouping: ids) { $0 }.filter { $0.value.count > 1 }
    if let one = repeated.first {
      found("the provider has \(repeated.count) repeated events more than once, such as \(one.key)")
    }
  }
}

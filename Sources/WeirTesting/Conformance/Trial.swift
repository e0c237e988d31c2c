// Trial: one check of a provider, with what all checks need: to give events, to look at verdicts and at what is there.

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

  /// The events that this check gives, and no other.
  let sample = SampleEvents()

  /// How often an event is given before it counts as never accepted.
  static var tries: Int { 5 }

  func found(_ message: String, in check: Check? = nil) {
    notes.add(ProviderConformance.Finding(check: check ?? self.check, message: message))
  }

  /// A provider that is set up; nil if there is none, which is a finding.
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
      found("no provider, or its setup failed \(Self.tries) times: \(error)", in: .setup)
      return nil
    }
  }

  // MARK: Giving

  /// Calls the provider once. Nil if there is not a verdict for each event, which is a finding.
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

  /// Gives events, and again those that are to be retried, until each is accepted or rejected. Nil if that can't be
  /// known; an event that is never decided on is a finding.
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
        // As delivery does: in halves, until the event at fault stands alone.
        guard let verdicts = await split(rest, refusal, by: provider, what) else { return nil }
        decided.merge(verdicts) { $1 }
        failure = nil
      } catch let stop as DeliveryStopped {
        found("\(what) stop delivery, until somebody mends it: \(stop.reason)")
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

  /// Gives events that every provider takes. False if one is not accepted, which is a finding.
  @discardableResult
  func accept(_ events: [PreparedEvent], by provider: P, _ what: String = "events") async -> Bool {
    guard let verdicts = await decide(events, by: provider, what) else { return false }
    for case .rejected(let reason) in verdicts.values {
      found("\(what) are rejected, though nothing is wrong with them: \(reason)")
      return false
    }
    return true
  }

  // MARK: Looking

  /// What the provider has of this check's events, and all associations, in order; nil if nobody can tell.
  func entries(of provider: P) async -> [Entry]? {
    guard let look else { return nil }
    do {
      return try await look(provider).filter { entry in
        if case .event(let id, _) = entry { return id.opening == sample.opening }
        return true
      }
    } catch {
      found("what is delivered can't be told: \(error)")
      return nil
    }
  }

  /// The ids of this check's events that the provider has, in order, each as often as it is there.
  func ids(in provider: P) async -> [EventID]? {
    await entries(of: provider)?.compactMap { entry in
      if case .event(let id, _) = entry { return id }
      return nil
    }
  }

  /// Looks whether these events, which were accepted, are there.
  func lookFor(_ events: [PreparedEvent], in provider: P, _ what: String = "") async {
    guard let ids = await ids(in: provider) else { return }
    let there = Set(ids)
    let missing = events.filter { !there.contains($0.stored.id) }
    if let first = missing.first {
      found("\(missing.count) of \(events.count) accepted events are not there\(what), first \(first.stored)")
    }
  }

  /// Looks whether each event is there once, if the provider claims that.
  func lookForRepetitions(in provider: P) async {
    guard claims.contains(.keepsOnce), let ids = await ids(in: provider) else { return }
    let repeated = Dictionary(grouping: ids) { $0 }.filter { $0.value.count > 1 }
    if let one = repeated.first {
      found("\(repeated.count) events that came again are there more than once, such as \(one.key)")
    }
  }
}

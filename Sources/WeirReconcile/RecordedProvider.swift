// RecordedProvider: a provider whose events are recorded as they are sent.

import Weir
public import WeirDelivery

extension Provider {
  /// Returns this provider, of whose events a control records each that has a verdict: as the provider got the event,
  /// by the event's id, with the reason of a rejection as the outcome.
  ///
  /// ```swift
  /// try dispatcher.add(HTTPProvider(preset).recorded(by: control).mapped(by: .snakeCase()))
  /// ```
  ///
  /// What the vendor was sent is then held against what the vendor has: `weir reconcile control --against
  /// export.jsonl`; or the log against what the vendor was sent. Attach mappers behind, so that their results are
  /// recorded.
  ///
  /// An event that is delivered again after a kill is recorded again: a duplicate of the control.
  public func recorded(by control: Control) -> some Provider {
    RecordedProvider(provider: self, control: control)
  }
}

private struct RecordedProvider: Provider {
  let provider: any Provider
  let control: Control

  var name: String { provider.name }
  func setup() async throws { try await provider.setup() }
  func associate(_ user: EventUser) async throws { try await provider.associate(user) }
  func disassociate() async throws { try await provider.disassociate() }
  func identify(_ user: EventUser) async throws { try await provider.identify(user) }
  func shutdown() async { await provider.shutdown() }

  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    do {
      let verdicts = try await provider.deliver(events)
      for (event, verdict) in zip(events, verdicts) {
        switch verdict {
        case .accepted: record(event, nil)
        case .rejected(let reason): record(event, reason)
        case .retry: continue
        }
      }
      return verdicts
    } catch let refused as BatchRefused {
      // Of several events, the faulty one is still looked for.
      if events.count == 1 { record(events[0], refused.reason) }
      throw refused
    }
  }

  private func record(_ event: PreparedEvent, _ outcome: String?) {
    control.record(event.name, event.fields, event.stored.id, event.context.user?.id, outcome)
  }
}

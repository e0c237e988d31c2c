// MappedProvider: a provider with an attached mapper.

import Weir

extension Provider {
  /// Returns this provider with a mapper: the provider gets the events that the mapper returns. See ``EventMapper``.
  ///
  /// ```swift
  /// try dispatcher.add(contentsOf: [
  ///   JSONLinesProvider("spool").mapped(by: .only(Checkout.self)),
  ///   HTTPProvider(SegmentPreset(writeKey: key)).mapped(by: .snakeCase().then(.flattening())),
  /// ])
  /// ```
  ///
  /// The provider keeps its name, and therefore its cursor. If several mappers are attached one after the other, the
  /// mapper attached last runs first. If your own provider calls another provider, the other provider's mapper is not
  /// used: attach the mapper to the outer provider.
  public func mapped(by mapper: EventMapper) -> some Provider {
    if let mapped = self as? MappedProvider {
      return MappedProvider(provider: mapped.provider, mapper: mapper.then(mapped.mapper))
    }
    return MappedProvider(provider: self, mapper: mapper)
  }

  /// The mapper attached to the provider.
  var attachedMapper: EventMapper { (self as? MappedProvider)?.mapper ?? EventMapper() }
}

/// A provider and its mapper. The worker maps events before counting and calling; this type only forwards calls.
struct MappedProvider: Provider {
  let provider: any Provider
  let mapper: EventMapper

  var name: String { provider.name }
  func setup() async throws { try await provider.setup() }
  func associate(_ user: EventUser) async throws { try await provider.associate(user) }
  func disassociate() async throws { try await provider.disassociate() }
  func identify(_ user: EventUser) async throws { try await provider.identify(user) }
  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { try await provider.deliver(events) }
  func shutdown() async { await provider.shutdown() }
}

// MappedProvider: a provider with the mapper that is attached to it.

import Weir

extension Provider {
  /// Returns this provider with a mapper, which brings each event into the provider's form: see ``EventMapper``.
  ///
  /// ```swift
  /// try dispatcher.add(contentsOf: [
  ///   JSONLinesProvider(directory: "spool").mapped(by: .only(Checkout.self)),
  ///   HTTPProvider(SegmentPreset(writeKey: key)).mapped(by: .snakeCase().then(.flattening())),
  /// ])
  /// ```
  ///
  /// The provider keeps its name, and with the name its cursor. If several mappers are attached one after the other,
  /// the mapper that was attached last is applied first. A mapper works on the provider that the dispatcher is given: a
  /// provider of your own that calls another provider does not apply the other's mapper.
  public func mapped(by mapper: EventMapper) -> some Provider {
    if let mapped = self as? MappedProvider {
      return MappedProvider(provider: mapped.provider, mapper: mapper.then(mapped.mapper))
    }
    return MappedProvider(provider: self, mapper: mapper)
  }

  /// The mapper that is attached to the provider.
  var attachedMapper: EventMapper { (self as? MappedProvider)?.mapper ?? EventMapper() }
}

/// A provider and its mapper. The worker maps events before it counts and calls; this only passes calls on.
struct MappedProvider: Provider {
  let provider: any Provider
  let mapper: EventMapper

  var name: String { provider.name }
  func setup() async throws { try await provider.setup() }
  func associate(_ user: EventUser) async throws { try await provider.associate(user) }
  func disassociate() async throws { try await provider.disassociate() }
  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { try await provider.deliver(events) }
  func shutdown() async { await provider.shutdown() }
}

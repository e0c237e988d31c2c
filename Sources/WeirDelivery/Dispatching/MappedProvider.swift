// MappedProvider: a provider with the mapper that is attached to it.

import Weir

extension Provider {
  /// This provider, given events as the mapper has them: see ``EventMapper``.
  ///
  /// ```swift
  /// try dispatcher.add(contentsOf: [
  ///   JSONLinesProvider(directory: "spool").mapped(by: .only(Checkout.self)),
  ///   HTTPProvider(SegmentPreset(writeKey: key)).mapped(by: .snakeCase().then(.flattening())),
  /// ])
  /// ```
  ///
  /// The provider keeps its name, and so its cursor. Of several mappers that are attached one after the other, the last
  /// one goes first: it stands before a provider that has the others. A provider of your own that calls another one
  /// does not have that one's mapper; attach the mapper to the outer one.
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

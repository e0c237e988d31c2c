// ProviderDispatcher: what every event of one provider needs, before that provider.

public import Weir

/// A provider that adds what every event of another provider needs, says which events are for it, and brings them into
/// its form.
///
/// ```swift
/// let advertising = ProviderDispatcher(
///   to: HTTPProvider(SegmentPreset(writeKey: key)),
///   only: [Checkout.self, PageView.self],
///   fields: [
///     GenericField("channel", "web"),
///     GenericField("plan") { $0.context.user?.traits["plan"] },
///     GenericField("page") { $0.context.view.map { .string($0.name) } },
///   ],
///   mapper: EventMapper(.snakeCase(), .flatten()))
/// try dispatcher.add(advertising)
/// ```
///
/// The class ``Dispatcher`` delivers a log to many providers; this is what stands before one of them, and is added to it
/// as any provider is, under the name of the other, whose cursor it has. Program and events know nothing of it.
///
/// **Order.** An event comes here as ``DeliveryOptions/preparation`` left it: completed, checked, sensitive values
/// replaced. Then it is held against `only`; gets the generic fields, but for those of whose name it has one of its own;
/// and goes through the mapper, the fields too. One around another comes first, and the provider's own
/// ``Provider/mapper`` last; a preset then writes what is left in the vendor's form.
///
/// **The ledger.** What is not for this provider is never given to it, and it can't answer for it: the ledger counts it
/// as ``LossReason/withheld`` there, not as acknowledged. Other providers get it all the same.
///
/// **Cost.** Off the capture path, in the provider's own task: for `only` a decoding of the event for each type in turn,
/// some microseconds. Closures run there, one event at a time; as an event may come again, they should answer the same
/// for the same event.
public struct ProviderDispatcher: Provider {
  private let provider: any Provider

  /// All that is done here, and what the other provider does itself.
  public let mapper: EventMapper

  /// Stands before a provider.
  ///
  /// - Parameters:
  ///   - provider: The one that events are given to.
  ///   - types: Events of these types alone; nil for all. An event is of a type if the type can read it, or fails at a
  ///     field: what is damaged or replaced in it does not make it another one.
  ///   - fields: What every event gets, in this order; of two of one name the first counts.
  ///   - mapper: The provider's form, and which further events are not for it.
  public init(
    to provider: any Provider, only types: [any Event.Type]? = nil, fields: [GenericField] = [],
    mapper: EventMapper = EventMapper()
  ) {
    self.provider = provider
    let own = EventMapper { event in
      if let types, !types.contains(where: { event.stored.isOf($0) }) { return false }
      // All are computed from the event as it came: none from another generic field.
      let added = fields.map { ($0.name, $0.value(event)) }
      for case (let name, let value?) in added where event.fields[name] == nil { event.fields[name] = value }
      return true
    }
    self.mapper = EventMapper(own, mapper, provider.mapper)
  }

  public var name: String { provider.name }
  public func setup() async throws { try await provider.setup() }
  public func associate(_ user: EventUser) async throws { try await provider.associate(user) }
  public func disassociate() async throws { try await provider.disassociate() }
  public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { try await provider.deliver(events) }
  public func shutdown() async { await provider.shutdown() }
}

/// A field that every event of a provider gets: see ``ProviderDispatcher``.
public struct GenericField: Sendable {
  /// Its name, as it stands before the mapper.
  public let name: String

  let value: @Sendable (PreparedEvent) -> FieldValue?

  /// The same value for every event.
  public init(_ name: String, _ value: FieldValue) {
    self.init(name) { _ in value }
  }

  /// A value that is computed from the event, its context and what was captured; nil: this event does not get it.
  /// Sensitive values are replaced by then.
  public init(_ name: String, _ value: @escaping @Sendable (PreparedEvent) -> FieldValue?) {
    self.name = name
    self.value = value
  }
}

extension StoredEvent {
  /// Whether the event is one of the type's: one that it reads, or would but for a field.
  fileprivate func isOf(_ type: any Event.Type) -> Bool {
    do { return try type.init(self) != nil } catch { return true }
  }
}

// ClosureProvider: a provider made of closures.

public import Weir

/// A provider made of a name and a closure, which gets events and returns a verdict for each.
///
/// ```swift
/// let printer = ClosureProvider("printer") { events in
///   for event in events { print(event.name, event.fields) }
///   return events.map { _ in .accepted }
/// }
/// ```
///
/// The requirements of ``Provider`` apply to the closures. Return ``Verdict/accepted`` only for events that are stored
/// permanently. Return one verdict for each event, in the order of the events. If storing an event twice does harm,
/// recognise the event by its id. If the closure throws, it is called again with the same events, unless it throws
/// ``BatchRefused`` or ``DeliveryStopped``.
public struct ClosureProvider: Provider {
  /// The name of the provider and its cursor.
  public let name: String

  private let takesEvents: @Sendable ([PreparedEvent]) async throws -> [Verdict]
  private let setsUp: @Sendable () async throws -> Void
  private let takesUser: @Sendable (EventUser?) async throws -> Void
  private let shutsDown: @Sendable () async -> Void

  /// Creates a provider from these closures.
  ///
  /// - Parameters:
  ///   - name: Letters, digits, `-` and `_`. The name identifies the cursor, so the name must never change.
  ///   - setup: Called once before all other calls, and again after it threw.
  ///   - userChanged: Called with the process's default user for the events after this call; `nil` if there is no user.
  ///   - shutdown: Called once, after all other calls.
  ///   - deliver: Delivers events, in the order of their offsets. Never called again before it returns.
  public init(
    _ name: String, setup: @escaping @Sendable () async throws -> Void = {},
    userChanged: @escaping @Sendable (EventUser?) async throws -> Void = { _ in },
    shutdown: @escaping @Sendable () async -> Void = {},
    deliver: @escaping @Sendable ([PreparedEvent]) async throws -> [Verdict]
  ) {
    self.name = name
    setsUp = setup
    takesUser = userChanged
    shutsDown = shutdown
    takesEvents = deliver
  }

  public func setup() async throws { try await setsUp() }
  public func associate(_ user: EventUser) async throws { try await takesUser(user) }
  public func disassociate() async throws { try await takesUser(nil) }
  public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { try await takesEvents(events) }
  public func shutdown() async { await shutsDown() }
}

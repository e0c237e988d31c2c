// ClosureProvider: a provider that is a closure.

public import Weir

/// A provider made of closures: a name, and a closure that takes events and returns a verdict for each.
///
/// ```swift
/// let printer = ClosureProvider("printer") { events in
///   for event in events { print(event.name, event.fields) }
///   return events.map { _ in .accepted }
/// }
/// ```
///
/// The closures must do what ``Provider`` asks: return ``Verdict/accepted`` only for an event that is kept for good,
/// return the verdicts in the order of the events, and recognise by its id an event that must not be kept twice. A
/// closure that throws gets the same events again, unless it throws ``BatchRefused`` or ``DeliveryStopped``.
public struct ClosureProvider: Provider {
  /// The name of the cursor.
  public let name: String

  private let takesEvents: @Sendable ([PreparedEvent]) async throws -> [Verdict]
  private let setsUp: @Sendable () async throws -> Void
  private let takesUser: @Sendable (EventUser?) async throws -> Void
  private let shutsDown: @Sendable () async -> Void

  /// Creates a provider.
  ///
  /// - Parameters:
  ///   - name: Letters, digits, `-` and `_`. The name is that of the cursor, so a new name begins anew.
  ///   - setup: Called once before every other closure, and again after it has thrown.
  ///   - userChanged: Gets the process's default user for the events that follow; `nil` if there is none.
  ///   - shutdown: Called once, after every other closure.
  ///   - deliver: Takes events in order of offset. The next call comes after this one has returned.
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

// ClosureProvider: a provider that is a closure.

public import Weir

/// A provider in a few lines: a name, and a closure that takes events and answers a verdict for each.
///
/// ```swift
/// let printer = ClosureProvider("printer") { events in
///   for event in events { print(event.name, event.fields) }
///   return events.map { _ in .accepted }
/// }
/// ```
///
/// What ``Provider`` asks of a provider it asks of the closures: ``Verdict/accepted`` only for what is
/// there for good, a verdict for each event in the events' order, an event recognised by its id where one that
/// comes again would do harm. A closure that throws is asked again with the same events, unless it throws
/// ``BatchRefused`` or ``DeliveryStopped``.
public struct ClosureProvider: Provider {
  /// The name of the cursor.
  public let name: String

  private let takesEvents: @Sendable ([PreparedEvent]) async throws -> [Verdict]
  private let setsUp: @Sendable () async throws -> Void
  private let takesUser: @Sendable (EventUser?) async throws -> Void
  private let shutsDown: @Sendable () async -> Void

  /// A provider of these closures.
  ///
  /// - Parameters:
  ///   - name: Letters, digits, `-` and `_`. It names the cursor, and so must stay.
  ///   - setup: Called once before anything else, and again after it threw.
  ///   - userChanged: The process's default user, from the events after this call on; nil: there is none.
  ///   - shutdown: Called once, after everything else.
  ///   - deliver: Takes events, in order of offset. Never called again before it returned.
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

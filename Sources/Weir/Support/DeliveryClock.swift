// DeliveryClock: the one clock that delivery knows, whatever clock it was given.

/// Time since a dispatcher was made, by the clock of its configuration.
///
/// Delivery asks for the time and sleeps in no other way, so a test that moves the clock decides what happens when.
package struct DeliveryClock: Sendable {
  private let elapsed: @Sendable () -> Duration
  private let sleepUntil: @Sendable (Duration) async throws -> Void

  /// A clock that begins at zero now.
  package init(_ clock: any Clock<Duration>) {
    self = Self.begin(clock)
  }

  private init(
    elapsed: @escaping @Sendable () -> Duration, sleepUntil: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.elapsed = elapsed
    self.sleepUntil = sleepUntil
  }

  private static func begin<Source: Clock<Duration>>(_ clock: Source) -> DeliveryClock {
    let start = clock.now
    return DeliveryClock(
      elapsed: { start.duration(to: clock.now) },
      sleepUntil: { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) })
  }

  /// The time since the beginning.
  package var now: Duration { elapsed() }

  /// Sleeps until so long after the beginning. Throws if the task is cancelled.
  package func sleep(until time: Duration) async throws {
    try await sleepUntil(time)
  }
}

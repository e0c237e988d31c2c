// DeliveryClock: the only clock that delivery uses.

/// The time since a dispatcher was created, by the clock of its configuration.
///
/// Delivery reads the time and sleeps only through this clock, so a test can control when things happen.
package struct DeliveryClock: Sendable {
  private let elapsed: @Sendable () -> Duration
  private let sleepUntil: @Sendable (Duration) async throws -> Void
  /// The clock is the machine's: time passes as it does for the system's calls.
  package let isMachines: Bool

  /// Creates a clock that starts at zero now.
  package init(_ clock: any Clock<Duration>) {
    self = Self.begin(clock)
  }

  private init(
    elapsed: @escaping @Sendable () -> Duration, sleepUntil: @escaping @Sendable (Duration) async throws -> Void,
    isMachines: Bool
  ) {
    self.isMachines = isMachines
    self.elapsed = elapsed
    self.sleepUntil = sleepUntil
  }

  private static func begin<Source: Clock<Duration>>(_ clock: Source) -> DeliveryClock {
    let start = clock.now
    return DeliveryClock(
      elapsed: { start.duration(to: clock.now) },
      sleepUntil: { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) },
      isMachines: clock is ContinuousClock || clock is SuspendingClock)
  }

  /// The time since the start.
  package var now: Duration { elapsed() }

  /// Sleeps until `time` after the start. Throws if the task is cancelled.
  package func sleep(until time: Duration) async throws {
    try await sleepUntil(time)
  }
}

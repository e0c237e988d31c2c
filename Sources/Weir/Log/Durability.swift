// Durability: what a power cut leaves of the log, and waiting for the disk.

extension Tracker {
  /// What of the log survives a power cut. The death of the process, `kill -9` included, costs nothing at any level.
  ///
  /// Whatever the level, ``Tracker/durable(upTo:)`` waits until an event is on the disk, and
  /// ``Tracker/durableOffset`` says how far the disk has come.
  public struct Durability: Hashable, Sendable {
    /// How often the log is synced while it grows; nil not at all.
    let interval: Duration?

    /// Segments that are full, and what the kernel had written of the rest. Captures and drains never wait for the
    /// disk, and nothing is synced unless somebody waits for it. The default.
    public static let processCrash = Durability(interval: nil)

    /// All that was captured up to so long before the power cut, as long as the disk keeps up: 1 ms to an hour.
    ///
    /// The log is synced off the threads that capture, and only while it grows: an idle log is left alone.
    public static func interval(_ time: Duration) -> Durability {
      Durability(interval: time)
    }
  }

  /// Waits until the event `id` is on the disk, and with it all that was captured before it by the same thread: from
  /// then on it survives a power cut.
  ///
  /// ```swift
  /// let receipt = tracker.track(Payment.booked(order: 7))
  /// if let id = receipt.id { try await tracker.durable(upTo: id) }
  /// ```
  ///
  /// All who wait at a time share one sync of the disk (group commit); at an event that is on the disk already this
  /// returns at once. No thread is blocked. A task that is cancelled stops waiting.
  ///
  /// Throws a ``WeirError``: `invalid` (an id that this opening did not give), `io` (the disk failed; what it failed to
  /// sync is copied to another file, so asking again may succeed), `noSpace` (the event stays in its lane),
  /// `lost` (it was overwritten before it was in the log), `closed`; and `CancellationError`.
  public func durable(upTo id: EventID) async throws {
    let waiting = Waiting()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard waiting.begin(continuation) else { return }
        do throws(WeirError) {
          try handle.whenDurable(id) { waiting.end($0) }
        } catch {
          waiting.end(error)
        }
      }
    } onCancel: {
      waiting.end(CancellationError())
    }
    withExtendedLifetime(self) {}
  }

  /// The durable watermark: every event with an offset below it survives a power cut. It only grows. Costs a load.
  public var durableOffset: Offset { handle.durableOffset }
}

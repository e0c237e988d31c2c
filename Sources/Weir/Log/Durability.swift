// Durability: what of the log survives a power cut, and waiting for the disk.

extension Tracker {
  /// What of the log survives a power cut. Every level survives the death of the process, `kill -9` included.
  ///
  /// At every level, ``Tracker/durable(upTo:)`` waits until an event is on disk, and ``Tracker/durableOffset`` tells
  /// how far the log is on disk.
  public struct Durability: Hashable, Sendable {
    /// The interval between syncs while the log grows; `nil` for no syncs.
    let interval: Duration?

    /// Full segments survive, and of the rest, what the kernel had written. Captures and drains never wait for the
    /// disk, and the log is synced only if a caller waits for it. The default.
    public static let processCrash = Durability(interval: nil)

    /// Events captured at least `time` before the power cut survive, as long as the disk keeps up. Range 1 ms–1 h.
    ///
    /// Syncs don't run on capturing threads, and run only while the log grows. An idle log is not synced.
    public static func interval(_ time: Duration) -> Durability {
      Durability(interval: time)
    }
  }

  /// Waits until the event `id`, and all earlier events of the same thread, are on disk and survive a power cut.
  ///
  /// ```swift
  /// let receipt = tracker.track(Payment.booked(order: 7))
  /// if let id = receipt.id { try await tracker.durable(upTo: id) }
  /// ```
  ///
  /// All callers that wait at the same time share one sync of the disk (group commit). Returns at once if the event is
  /// already on disk. Blocks no thread. A cancelled task stops waiting. ``audit(_:timeout:)`` captures and waits in one
  /// call.
  ///
  /// Throws a ``WeirError`` with the code `invalid` (this opening did not give the id), `io` (the disk failed; the
  /// unsynced data is copied to another file, so a second call may succeed), `noSpace` (the event stays in its lane),
  /// `lost` (the event was overwritten, or damaged in memory, before it was in the log), `memory` (there is none to
  /// wait) or `closed`. Throws `CancellationError` if the task is
  /// cancelled.
  public func durable(upTo id: EventID) async throws { try await durable(upTo: id, timeout: nil) }

  /// Throws `timeout` if the event is not on disk after `timeout`.
  func durable(upTo id: EventID, timeout: Duration?) async throws {
    let waiting = Waiting()
    let deadline = timeout.map { timeout in
      Deadlines.shared.end(waiting, after: timeout) { [directory] in
        let problem = "the event is not on disk after \(timeout.inWords): the disk is slow or stands still; try again"
        return WeirError(.timeout, problem, path: directory)
      }
    }
    defer { if let deadline { Deadlines.shared.remove(waiting, deadline) } }
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

  /// The durable watermark: every event with a lower offset survives a power cut. Never decreases. Costs one load.
  public var durableOffset: Offset { handle.durableOffset }
}

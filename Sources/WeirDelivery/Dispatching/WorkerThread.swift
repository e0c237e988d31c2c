// WorkerThread: a thread that runs one actor.

import Weir

/// Runs the jobs of one actor, on a thread of its own that ends with it.
///
/// A provider's worker reads files and waits for the disk. On the threads that all tasks of the process share, a disk
/// that hangs would hold up the program; here it holds up one provider. The provider's own code runs on the shared
/// ones.
final class WorkerThread: SerialExecutor {
  private struct Work: Sendable {
    let job: UnownedJob
    /// Kept until the job has run: it may hold the last reference to the actor.
    let executor: WorkerThread
  }

  private struct State: Sendable {
    var queue: [Work] = []
    var isEnding = false
  }

  private let state: Monitor<State>

  /// Starts the thread. Throws `memory` if the system has no more of them.
  init(_ name: String) throws(WeirError) {
    let state = Monitor(State())
    self.state = state
    try startThread(name) { Self.run(state) }
  }

  deinit {
    state.change { $0.isEnding = true }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let work = Work(job: UnownedJob(job), executor: self)
    state.change { $0.queue.append(work) }
  }

  private static func run(_ state: Monitor<State>) {
    let never = MonotonicTime(nanoseconds: .max)
    while true {
      _ = state.wait(until: never) { !$0.queue.isEmpty || $0.isEnding }
      var queue = state.change(wakes: false) { state in
        defer { state.queue = [] }
        return state.queue
      }
      if queue.isEmpty { return }
      queue.reverse()
      while let work = queue.popLast() {
        work.job.runSynchronously(on: work.executor.asUnownedSerialExecutor())
      }
    }
  }
}

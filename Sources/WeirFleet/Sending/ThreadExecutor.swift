// ThreadExecutor: runs an actor on a thread of its own.

package import Weir

/// Runs an actor's work on one thread, on which it may block: the calls of a broker's client do. The thread ends with
/// the executor.
package final class ThreadExecutor: SerialExecutor {
  private struct State: Sendable {
    var jobs: [UnownedJob] = []
    var isOver = false
  }

  private let state = ConditionLock(State())

  /// Throws `memory` if the system can't start another thread.
  package init(_ name: String) throws(WeirError) {
    let state = state
    let executor = UnownedExecutor(self)
    try startThread(name) {
      while true {
        _ = state.wait(until: MonotonicTime(nanoseconds: .max)) { $0.isOver || !$0.jobs.isEmpty }
        let (jobs, isOver) = state.change(wakes: false) { state in
          defer { state.jobs = [] }
          return (state.jobs, state.isOver)
        }
        // A job holds its actor, and the actor the executor.
        for job in jobs { job.runSynchronously(on: executor.reference) }
        if isOver, jobs.isEmpty { return }
      }
    }
  }

  deinit { state.change { $0.isOver = true } }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.change { $0.jobs.append(job) }
  }

  private struct UnownedExecutor: Sendable {
    let reference: UnownedSerialExecutor

    init(_ executor: ThreadExecutor) { reference = UnownedSerialExecutor(ordinary: executor) }
  }
}

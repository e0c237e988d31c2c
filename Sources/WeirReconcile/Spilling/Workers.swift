// Workers: some threads that share the work.

import Weir

enum Workers {
  private struct State {
    var next = 0
    var running: Int
    var error: WeirError?
  }

  /// Calls `body` with each number below `count`, on so many threads, this one among them. Returns after the last call.
  ///
  /// Throws the first error of a call, after the calls that had begun.
  static func forEach(
    _ count: Int, threads: Int, _ body: @escaping @Sendable (Int) throws(WeirError) -> Void
  ) throws(WeirError) {
    let others = max(0, min(threads, count) - 1)
    let state = ConditionLock(State(running: others))
    @Sendable func work() {
      while let number = state.change(
        wakes: false,
        { state -> Int? in
          guard state.error == nil, state.next < count else { return nil }
          state.next += 1
          return state.next - 1
        })
      {
        do throws(WeirError) {
          try body(number)
        } catch {
          state.change { $0.error = $0.error ?? error }
        }
      }
    }
    for _ in 0..<others {
      do throws(WeirError) {
        try startThread("weir-reconcile") {
          work()
          state.change { $0.running -= 1 }
        }
      } catch {
        // With fewer threads the same work takes longer.
        state.change { $0.running -= 1 }
      }
    }
    work()
    _ = state.wait(until: MonotonicTime(nanoseconds: .max)) { $0.running == 0 }
    if let error = state.read({ $0.error }) { throw error }
  }
}

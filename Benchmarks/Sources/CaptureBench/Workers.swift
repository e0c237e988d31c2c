// Workers.swift: threads on processors of their own, in step with one another.
import CaptureSubjects
import Foundation

/// Which processors the capturing threads take, and which are left to everything else.
struct Placement {
  let capturing: [Int32]
  let others: [Int32]

  /// The last processors for capturing: the first ones are where most machines put their interrupts. With as many
  /// threads as processors there is nothing left, and the drainer shares them.
  init(threads: Int) {
    let all = Placement.available
    let taken = (0..<threads).map { all[all.count - 1 - $0 % all.count] }
    let left = all.filter { !taken.contains($0) }
    capturing = taken
    others = left.isEmpty ? all : left
  }

  /// The processors that this process may run on.
  static let available: [Int32] = {
    var cpus = [Int32](repeating: 0, count: 1024)
    let count = support_cpus(&cpus, Int32(cpus.count))
    return count > 0 ? Array(cpus.prefix(Int(count))) : [0]
  }()

  static func pin(to cpus: [Int32]) {
    _ = support_pin(cpus, Int32(cpus.count))
  }
}

/// A barrier in memory that does not move. Sendable because C's atomics are all that touches it.
final class SpinBarrier: @unchecked Sendable {
  private let barrier = UnsafeMutablePointer<spin_barrier>.allocate(capacity: 1)

  init(threads: Int) {
    let spins: UInt32 = threads > Placement.available.count ? 100 : 100_000
    barrier.initialize(to: spin_barrier(threads: UInt32(threads), spins: spins, waiting: 0, phase: 0))
  }

  deinit { barrier.deallocate() }

  func wait() { spin_barrier_wait(barrier) }
}

/// A word in memory that does not move, raised once. Sendable because C's atomics are all that touches it.
final class StopFlag: @unchecked Sendable {
  let word = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)

  init() { word.initialize(to: 0) }
  deinit { word.deallocate() }

  var isRaised: Bool { support_flag_load(word) != 0 }
  func raise() { support_flag_raise(word) }
}

/// Threads that run one body.
struct Workers {
  private let group = DispatchGroup()

  /// Starts `body` on one thread for each of `cpus`, pinned there.
  init(on cpus: [Int32], _ body: @escaping @Sendable (_ thread: Int) -> Void) {
    for (index, cpu) in cpus.enumerated() {
      group.enter()
      let thread = Thread { [group] in
        Placement.pin(to: [cpu])
        body(index)
        group.leave()
      }
      thread.stackSize = 1 << 20
      thread.start()
    }
  }

  /// Until all have ended.
  func wait() { group.wait() }

  /// Starts the threads and waits for them.
  static func run(on cpus: [Int32], _ body: @escaping @Sendable (_ thread: Int) -> Void) {
    Workers(on: cpus, body).wait()
  }
}

// ResumeWatch: notices that the process goes on after it stood still. It looks at clocks between two sleeps of a thread, and
// takes no signal: those belong to the host.

import CClocks

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Whether the process was stopped (SIGSTOP and SIGCONT, a frozen cgroup) or the machine suspended. A pure value but
/// for ``Clocks/now``.
///
/// The monotonic clock goes on while a process is stopped, so a sleep that took more than a second too long tells of
/// that; and so does a second between two sleeps, for a worker waits for its provider asleep and has little to do
/// besides. A machine that is too busy to wake a thread for a second, or a disk that hangs, looks the same, and then
/// events go out early, which does no harm. The clock stands still while the machine is suspended, and the boot clock
/// does not.
package struct ResumeWatch: Sendable {
  /// Two clocks of the machine.
  package struct Clocks: Hashable, Sendable {
    /// Goes on while the machine is suspended.
    package var boot: Duration
    /// Stands still then.
    package var monotonic: Duration

    package init(boot: Duration, monotonic: Duration) {
      self.boot = boot
      self.monotonic = monotonic
    }

    /// What they show now: 50 ns, without a system call.
    package static var now: Clocks {
      // In this order an interruption between the two makes their difference larger, never smaller.
      let monotonic = time(CLOCK_MONOTONIC)
      return Clocks(boot: time(CLOCK_BOOTTIME), monotonic: monotonic)
    }

    /// The monotonic one alone.
    package static var monotonicNow: Duration { time(CLOCK_MONOTONIC) }

    private static func time(_ clock: clockid_t) -> Duration { .nanoseconds(weir_clock_read(clock)) }
  }

  /// How long the process stood still.
  package struct Stop: Hashable, Sendable {
    /// While the monotonic clock went on: what a sleep took too long.
    package var process = Duration.zero
    /// With the machine, which the monotonic clock does not know of.
    package var machine = Duration.zero

    package init(process: Duration = .zero, machine: Duration = .zero) {
      self.process = process
      self.machine = machine
    }

    package var all: Duration { process + machine }
  }

  /// So much later than meant is a stop.
  package static let tolerance = Duration.seconds(1)
  /// The two clocks are read one after the other, and a thread may be interrupted between.
  package static let clockTolerance = Duration.milliseconds(100)

  /// At the last call.
  private var before: Clocks
  /// How long the machine was suspended by then, as the two clocks have it.
  private var suspended: Duration

  package init(_ clocks: Clocks) {
    before = clocks
    suspended = clocks.boot - clocks.monotonic
  }

  /// To be called before a sleep. True if the process stood still since the last one.
  package mutating func sleeps(_ clocks: Clocks) -> Bool {
    look(clocks, meant: .zero) != nil
  }

  /// To be called after it. True if the process stood still in the sleep, which was meant to take so long at most.
  package mutating func woke(_ clocks: Clocks, meant: Duration) -> Bool {
    look(clocks, meant: meant) != nil
  }

  /// To be called at any time: how long the process stood still since the last call, which was meant to be so long ago
  /// at most; nil if it did not.
  package mutating func look(_ clocks: Clocks, meant: Duration) -> Stop? {
    defer { before = clocks }
    let difference = clocks.boot - clocks.monotonic
    let machine = difference - suspended
    let wasSuspended = machine > Self.clockTolerance
    // The least difference that was seen is the one that no interruption made.
    suspended = wasSuspended ? difference : min(suspended, difference)
    let late = clocks.monotonic - before.monotonic - meant
    guard wasSuspended || late > Self.tolerance else { return nil }
    return Stop(process: late > Self.tolerance ? late : .zero, machine: wasSuspended ? machine : .zero)
  }
}

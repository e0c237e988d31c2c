// ResumeWatch: notices that the process continues after a standstill. It compares clocks between two sleeps of a
// thread, and uses no signals, because signals belong to the host.

import CClocks

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Detects that the process was stopped (SIGSTOP and SIGCONT, a frozen cgroup) or that the machine was suspended. A
/// pure value, except for ``Clocks/now``.
///
/// The monotonic clock continues while a process is stopped. A sleep that took over a second too long therefore
/// indicates a stop. So does a second between two sleeps, because a worker sleeps while it waits for its provider, and
/// does little else. A machine that is too busy to wake a thread for a second, or a disk that hangs, looks the same.
/// Events are then delivered early, which does no harm. While the machine is suspended, the monotonic clock stands
/// still and the boot clock continues.
package struct ResumeWatch: Sendable {
  /// The readings of two clocks of the machine.
  package struct Clocks: Hashable, Sendable {
    /// Continues while the machine is suspended.
    package var boot: Duration
    /// Stands still while the machine is suspended.
    package var monotonic: Duration

    package init(boot: Duration, monotonic: Duration) {
      self.boot = boot
      self.monotonic = monotonic
    }

    /// The current readings. Costs 50 ns, without a system call.
    package static var now: Clocks {
      // In this order, an interruption between the two reads makes their difference larger, never smaller.
      let monotonic = time(CLOCK_MONOTONIC)
      return Clocks(boot: time(CLOCK_BOOTTIME), monotonic: monotonic)
    }

    /// The current reading of the monotonic clock.
    package static var monotonicNow: Duration { time(CLOCK_MONOTONIC) }

    private static func time(_ clock: clockid_t) -> Duration { .nanoseconds(weir_clock_read(clock)) }
  }

  /// The duration of a standstill.
  package struct Stop: Hashable, Sendable {
    /// The time in which the monotonic clock continued: the excess of a sleep.
    package var process = Duration.zero
    /// The time in which the machine was suspended, which the monotonic clock does not count.
    package var machine = Duration.zero

    package init(process: Duration = .zero, machine: Duration = .zero) {
      self.process = process
      self.machine = machine
    }

    package var all: Duration { process + machine }
  }

  /// The delay from which a sleep counts as a stop.
  package static let tolerance = Duration.seconds(1)
  /// The tolerance between the two clocks: they are read one after the other, and the thread may be interrupted in
  /// between.
  package static let clockTolerance = Duration.milliseconds(100)

  /// The readings at the last call.
  private var before: Clocks
  /// The machine's total suspension at the last call: the difference of the two clocks.
  private var suspended: Duration

  package init(_ clocks: Clocks) {
    before = clocks
    suspended = clocks.boot - clocks.monotonic
  }

  /// Must be called before a sleep. Returns `true` if the process stood still since the last call.
  package mutating func sleeps(_ clocks: Clocks) -> Bool {
    look(clocks, meant: .zero) != nil
  }

  /// Must be called after a sleep. Returns `true` if the process stood still in the sleep, which was meant to take at
  /// most `meant`.
  package mutating func woke(_ clocks: Clocks, meant: Duration) -> Bool {
    look(clocks, meant: meant) != nil
  }

  /// May be called at any time. Returns how long the process stood still since the last call, which was meant to be at
  /// most `meant` ago, or `nil` if it did not stand still.
  package mutating func look(_ clocks: Clocks, meant: Duration) -> Stop? {
    defer { before = clocks }
    let difference = clocks.boot - clocks.monotonic
    let machine = difference - suspended
    let wasSuspended = machine > Self.clockTolerance
    // The smallest difference is the one that no interruption enlarged.
    suspended = wasSuspended ? difference : min(suspended, difference)
    let late = clocks.monotonic - before.monotonic - meant
    guard wasSuspended || late > Self.tolerance else { return nil }
    return Stop(process: late > Self.tolerance ? late : .zero, machine: wasSuspended ? machine : .zero)
  }
}

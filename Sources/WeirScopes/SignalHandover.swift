// SignalHandover: the signals that the host handed to a life cycle, and the thread's wait for them. The one place in
// Swift that knows how signals are taken; the handlers themselves are in the core, in C, where what may run between any
// two instructions can be seen.

import CSignals
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

extension LifeCycle.Signal {
  fileprivate var number: Int32 {
    switch self {
    case .continue: SIGCONT
    case .terminalStop: SIGTSTP
    case .terminate: SIGTERM
    }
  }

  fileprivate var name: String {
    switch self {
    case .continue: "SIGCONT"
    case .terminalStop: "SIGTSTP"
    case .terminate: "SIGTERM"
    }
  }
}

/// Signals that are taken, until ``release()``; and something to wait at, for one thread.
final class SignalHandover: Sendable {
  private let signals: [LifeCycle.Signal]
  private let waker: Int32

  /// Takes the signals: all of them, or none if it throws. `invalid` if one is taken already, `memory` if there are no
  /// more descriptors.
  init(_ signals: Set<LifeCycle.Signal>) throws(WeirError) {
    waker = weir_wake_open()
    guard waker >= 0 else {
      throw WeirError(
        .memory, "a life cycle's descriptor could not be opened; raise the limit on open files", systemError: -waker)
    }
    var taken: [LifeCycle.Signal] = []
    for signal in LifeCycle.Signal.allCases where signals.contains(signal) {
      let answer = weir_signal_take(signal.number, signal == .terminate ? 1 : 0)
      guard answer < 0 else {
        taken.append(signal)
        continue
      }
      for signal in taken { weir_signal_release(signal.number) }
      weir_wake_close(waker)
      if answer == -EBUSY {
        throw WeirError(
          .invalid, "\(signal.name) is handed over to another life cycle; release that first, or hand it to one alone")
      }
      throw WeirError(.memory, "\(signal.name) could not be taken: no descriptors", systemError: -answer)
    }
    self.signals = taken
  }

  deinit {
    weir_wake_close(waker)
  }

  /// Whether there is any.
  var isEmpty: Bool { signals.isEmpty }

  /// The earlier handlers are put back. What came before is still to be waited for.
  func release() {
    for signal in signals { weir_signal_release(signal.number) }
  }

  /// Waits for a signal, for so long at most, or until it is woken; nil: for ever.
  func wait(_ time: Duration?) -> LifeCycle.Signal? {
    // Rounded up, so that a wait does not end before its time is over, only to begin again.
    let milliseconds = time.map { Int32(clamping: ($0.wholeNanoseconds + 999_999) / 1_000_000) } ?? -1
    let number = weir_signal_wait(waker, signals.map(\.number), Int32(signals.count), milliseconds)
    return signals.first { $0.number == number }
  }

  /// Ends a wait. From any thread.
  func wake() {
    weir_wake(waker)
  }

  /// What the signal would have done without us: the process may end, or stop for a while.
  func passOn(_ signal: LifeCycle.Signal) {
    weir_signal_pass_on(signal.number)
  }
}

// SignalHandover: the signals that the host handed to a life cycle, and the thread's wait for them. No other Swift code
// handles signals. The signal handlers are in the core, in C, because code that may run between any two instructions
// must be visible as such.

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

/// Signals that are handled until ``release()``, and a descriptor at which one thread waits for them.
final class SignalHandover: Sendable {
  private let signals: [LifeCycle.Signal]
  private let waker: Int32

  /// Installs handlers for the signals: for all of them, or for none if this throws. Throws `invalid` if another life
  /// cycle handles one of them, `memory` if there are no more descriptors.
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
          .invalid, "\(signal.name) is handed over to another life cycle; release that one first, or use only one")
      }
      throw WeirError(.memory, "\(signal.name) could not be handled: no descriptors", systemError: -answer)
    }
    self.signals = taken
  }

  deinit {
    weir_wake_close(waker)
  }

  /// Whether no signal is handled.
  var isEmpty: Bool { signals.isEmpty }

  /// Restores the previous handlers. Signals that arrived before must still be waited for.
  func release() {
    for signal in signals { weir_signal_release(signal.number) }
  }

  /// Waits for a signal, for at most `time`, or until another thread wakes it; `nil` waits forever.
  func wait(_ time: Duration?) -> LifeCycle.Signal? {
    // Rounded up, so that a wait does not end just before its time and begin again.
    let milliseconds = time.map { Int32(clamping: ($0.wholeNanoseconds + 999_999) / 1_000_000) } ?? -1
    let number = weir_signal_wait(waker, signals.map(\.number), Int32(signals.count), milliseconds)
    return signals.first { $0.number == number }
  }

  /// Ends a wait. Any thread may call this.
  func wake() {
    weir_wake(waker)
  }

  /// Does what the signal would have done without us: the process may end, or stop for a while.
  func passOn(_ signal: LifeCycle.Signal) {
    weir_signal_pass_on(signal.number)
  }
}

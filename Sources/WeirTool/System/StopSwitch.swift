// StopSwitch.swift: ending a command early, once, for the first reason that comes: a signal, a full disk, a reader that
// has gone. Threads ask it with one load; a thread that sleeps in poll is woken through a descriptor.

#if Tool
  import Foundation
  import Glibc
  import Synchronization

  /// Why a command stops before its input does.
  enum StopCause: Equatable, Sendable {
    case signal(Int32)
    /// The log cannot grow: the disk is full, or failed.
    case storage
    /// Standard output was closed by its reader, or can't be written.
    case output
    /// The log refuses every further event.
    case refused
  }

  final class StopSwitch: Sendable {
    private let isOn = Atomic<Bool>(false)
    private let firstCause = Mutex<StopCause?>(nil)
    /// Becomes readable when the switch is thrown, and stays so.
    let wakeDescriptor: Int32
    private let wakeWriter: Int32

    init() throws(ToolError) {
      (wakeDescriptor, wakeWriter) = try makePipe()
    }

    deinit {
      close(wakeDescriptor)
      close(wakeWriter)
    }

    /// Relaxed: whoever must know the cause asks after joining the threads, or takes the mutex.
    var isThrown: Bool { isOn.load(ordering: .relaxed) }

    var cause: StopCause? { firstCause.withLock { $0 } }

    /// Stops everything that looks at the switch. Only the first cause counts.
    func stop(_ cause: StopCause) {
      let isFirst = firstCause.withLock { first in
        if first != nil { return false }
        first = cause
        return true
      }
      guard isFirst else { return }
      isOn.store(true, ordering: .relaxed)
      var byte: UInt8 = 0
      _ = write(wakeWriter, &byte, 1)
    }

    /// Sleeps for that long, or until the switch is thrown.
    func sleep(milliseconds: Int32) {
      var event = pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0)
      _ = poll(&event, 1, milliseconds)
    }

    /// The same for a command whose work is what it prints: throws the switch if standard output's reader has gone
    /// meanwhile, so that a command which waits for something to print does not wait for ever in vain.
    func sleepWhileRead(milliseconds: Int32) {
      var events = [
        pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
      ]
      if poll(&events, 2, milliseconds) > 0, events[1].revents & Int16(POLLERR) != 0 { stop(.output) }
    }

    /// Turns SIGINT and SIGTERM into a throw of this switch, so that a log is closed in order. The second one ends the
    /// process at once: what was captured survives that too, only the order is lost. Call on the main thread before any
    /// other thread is started, because threads inherit the blocked signals.
    func stopOnSignals() {
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGINT)
      sigaddset(&signals, SIGTERM)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      Thread.detachNewThread {
        var awaited = sigset_t()
        sigemptyset(&awaited)
        sigaddset(&awaited, SIGINT)
        sigaddset(&awaited, SIGTERM)
        var number: Int32 = 0
        while sigwait(&awaited, &number) != 0 {}
        self.stop(.signal(number))
        while sigwait(&awaited, &number) != 0 {}
        _exit(128 + number)
      }
    }
  }
#endif

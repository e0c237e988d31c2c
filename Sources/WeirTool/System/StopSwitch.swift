// StopSwitch: ends a command early, once, for the first reason that occurs: a signal, a full disk, a closed pipe.
// Threads check the switch with one load. A thread that sleeps in poll is woken through a descriptor.

#if Tool
  import Foundation
  import Synchronization
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

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
    /// Rung when the switch is thrown.
    private let alarms = Mutex<[Alarm]>([])
    /// Becomes readable when the switch is thrown, and stays readable.
    let wakeDescriptor: Int32
    private let wakeWriter: Int32

    init() throws(ToolError) {
      (wakeDescriptor, wakeWriter) = try makePipe()
    }

    deinit {
      close(wakeDescriptor)
      close(wakeWriter)
    }

    /// A relaxed load: code that needs the cause reads it after joining the threads, or takes the mutex.
    var isThrown: Bool { isOn.load(ordering: .relaxed) }

    var cause: StopCause? { firstCause.withLock { $0 } }

    /// Stops all work that checks the switch. Only the first cause counts.
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
      // Taken after the store: who comes with an alarm from now on sees that the switch is thrown.
      for alarm in alarms.withLock({ $0 }) { alarm.ring() }
    }

    /// Rings an alarm when the switch is thrown, or now if the switch was thrown before.
    func ring(_ alarm: Alarm) {
      alarms.withLock { $0.append(alarm) }
      if isThrown { alarm.ring() }
    }

    /// Sleeps for the given time, or until the switch is thrown.
    func sleep(milliseconds: Int32) {
      var event = pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0)
      _ = poll(&event, 1, milliseconds)
    }

    /// Sleeps until the next look at a log, for a command whose only purpose is its output: throws the switch if the
    /// reader of standard output has gone, so that a command that waits for something to print does not wait for ever.
    func sleepWhileRead(until look: EventReader.NextLook) {
      var events = [
        pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: look.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
      ]
      // The first pauses are shorter than a millisecond, and none at all here.
      let milliseconds = Int32(look.pause / .milliseconds(1))
      guard poll(&events, 3, milliseconds) > 0, events[2].revents != 0 else { return }
      if events[2].revents & Int16(POLLERR) != 0 { return stop(.output) }
      // Whatever else it reports would end every sleep at once.
      _ = poll(&events, 2, milliseconds)
    }

    /// Makes SIGINT and SIGTERM throw this switch, so that the log is closed in order. A second signal ends the process
    /// at once: captured events survive, but the log is not closed in order. Call this on the main thread before any
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

// DescriptorWatch: rings an alarm when a file descriptor becomes readable.

import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Rings an alarm once, when a descriptor becomes readable. Ends when it is released. Works on a duplicate of the
/// descriptor, so the descriptor itself may be closed at any time. Takes no thread of its own.
package final class DescriptorWatch: Sendable {
  // Sendable, although the compiler can't see it: a dispatch source may be used on any thread.
  nonisolated(unsafe) private let source: any DispatchSourceRead
  private let rung: Rung

  private final class Rung: Sendable {
    let flag = Atomic<Bool>(false)
  }

  /// Begins to watch. Returns `nil` if the process has no descriptor left.
  package init?(_ descriptor: Int32, rings alarm: Alarm) {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { return nil }
    let rung = Rung()
    self.rung = rung
    let source = DispatchSource.makeReadSource(fileDescriptor: copy, queue: .global())
    self.source = source
    source.setEventHandler {
      // Once: the source would call again until somebody has read from the descriptor.
      source.cancel()
      rung.flag.store(true, ordering: .releasing)
      alarm.ring()
    }
    source.setCancelHandler { close(copy) }
    source.activate()
  }

  deinit { source.cancel() }

  /// Whether the alarm was rung.
  package var hasRung: Bool { rung.flag.load(ordering: .acquiring) }
}

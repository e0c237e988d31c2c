// Guard: living on when somebody truncates a file that the log has mapped.

import CWeir

extension Tracker {
  /// Installs a handler of SIGBUS for hosts that want to live on when somebody truncates a live log's ring or segment,
  /// or the disk can't read a page of them back. Without it such a fault ends the process, as any does.
  ///
  /// The log in question is stopped: its captures are dropped as ``DropReason/storage``, draining and waiting for the
  /// disk throw `io`, nothing more is said to be durable. The next opening recovers what the files still have. Every
  /// other SIGBUS goes to the handler that was there before, or has its default effect.
  ///
  /// Call it before the first tracker is made, and after whatever else handles SIGBUS; again, it does nothing.
  public static func installGuard() {
    weir_guard_install()
  }
}

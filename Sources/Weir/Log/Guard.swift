// Guard: keeps the process alive when a mapped file of the log is truncated.

import CWeir

extension Tracker {
  /// Installs a SIGBUS handler, for programs that must survive two faults: another process truncates the ring or a
  /// segment of a live log, or the disk can't read back one of their pages. Without the handler, such a fault ends the
  /// process.
  ///
  /// After a fault, the log stops: captures are dropped as ``DropReason/storage``, draining and waiting for the disk
  /// throw `io`, and no further event becomes durable. The next opening recovers what is left in the files. Any other
  /// SIGBUS goes to the previous handler, or has its default effect.
  ///
  /// Call this before making the first tracker, and after installing any other SIGBUS handler. A second call does
  /// nothing. A plug-in with Weir inside then stays in memory when it is unloaded.
  public static func installGuard() {
    weir_guard_install()
  }
}

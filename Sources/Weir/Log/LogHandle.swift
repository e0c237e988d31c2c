// LogHandle: an open log of the core, and the functions that are not on the path of every event.

import CCapture
import CWeir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// An open log. Holds no ownership: the tracker that opened it frees it.
package struct LogHandle {
  let log: UnsafeMutablePointer<weir_log>

  init(_ log: UnsafeMutablePointer<weir_log>) {
    self.log = log
  }

  static func open(_ directory: String, _ options: CoreOptions) throws(WeirError) -> (LogHandle, RecoveryReport) {
    try checkPath(directory)
    if let ring = options.ringDirectory { try checkPath(ring) }
    var core = try options.forCore()
    var recovery = weir_recovery()
    var log: UnsafeMutablePointer<weir_log>?
    do throws(WeirError) {
      if let ring = options.ringDirectory {
        try WeirError.check { error in
          absolutePath(ring).withCString {
            core.ring_directory = $0
            return weir_open(directory, &core, &log, &recovery, error)
          }
        }
      } else {
        try WeirError.check { weir_open(directory, &core, &log, &recovery, $0) }
      }
    } catch {
      throw options.asGiven(error)
    }
    guard let log else { throw WeirError(.io, "opening \(directory) gave no log", path: directory) }
    return (LogHandle(log), RecoveryReport(recovery))
  }

  func close() throws(WeirError) {
    try WeirError.check { weir_close(log, $0) }
  }

  /// Closes the log if that has not been done, and frees it. No call may be in progress or follow.
  func free() {
    weir_free(log)
  }

  package func drain(_ nanoseconds: UInt64) throws(WeirError) -> Offset {
    var offset: Offset = 0
    try WeirError.check { weir_drain(log, nanoseconds, &offset, $0) }
    return offset
  }

  package func sync(_ nanoseconds: UInt64) throws(WeirError) -> Offset {
    var offset: Offset = 0
    try WeirError.check { weir_sync(log, nanoseconds, &offset, $0) }
    return offset
  }

  package var durableOffset: Offset { weir_durable_offset(log) }

  /// Has `done` called once, on any thread, when the event is on the disk or will not be. Throws if it never will be
  /// called.
  func whenDurable(_ id: EventID, _ done: @escaping @Sendable (WeirError?) -> Void) throws(WeirError) {
    let call = Unmanaged.passRetained(Call(done))
    do throws(WeirError) {
      let id = weir_id(opening: id.opening, sequence: id.sequence)
      try WeirError.check { error in
        weir_durable_notify(
          log, id,
          { context, status, error in
            guard let context else { return }
            let call = Unmanaged<Call>.fromOpaque(context).takeRetainedValue()
            call.done(error.map { WeirError(status, $0.pointee) })
          }, call.toOpaque(), error)
      }
    } catch {
      call.release()
      throw error
    }
  }

  /// Has the drainer ring `bell` after events came into the log; nil for none any more. Waits for a ring that goes on.
  /// The caller keeps the bell until another one, or none, has taken its place.
  package func ringWhenDrained(_ bell: DrainBell?) {
    guard let bell else { return weir_on_drained(log, nil, nil) }
    weir_on_drained(
      log, { context in context.map { Unmanaged<DrainBell>.fromOpaque($0).takeUnretainedValue().ring() } },
      Unmanaged.passUnretained(bell).toOpaque())
  }

  /// Has the drainer ring `watch` after captures were refused. The caller keeps the watch until the log is freed.
  func ringWhenRefused(_ watch: RefusalWatch) {
    weir_on_refused(
      log, { context in if let context { Unmanaged<RefusalWatch>.fromOpaque(context).takeUnretainedValue().ring() } },
      Unmanaged.passUnretained(watch).toOpaque())
  }

  /// What is to be called, as an object that C can hand through.
  private final class Call: Sendable {
    let done: @Sendable (WeirError?) -> Void

    init(_ done: @escaping @Sendable (WeirError?) -> Void) {
      self.done = done
    }
  }

  /// Every provider has what is below `offset`: it may be removed, if the log was opened for that.
  package func setDelivered(_ offset: Offset) {
    weir_set_delivered(log, offset)
  }

  package func counters() -> Counters {
    var counters = weir_counters()
    weir_count(log, &counters)
    return Counters(counters)
  }

  // MARK: Types

  /// Defines a group of types for `owner`, unless it is defined already. Those marked in `sampled` take the slow path.
  func define(_ types: [EventType], owner: UInt64, sampled: [Bool]) throws(WeirError) {
    let definitions = try Definitions(types, sampled: sampled)
    var first: UInt32 = 0
    try WeirError.check { error in
      definitions.withCore { weir_define(log, owner, $0.baseAddress, UInt32($0.count), &first, error) }
    }
  }

  /// Defines one type that is found by `owner` and `key`; answers its number.
  func define(_ type: EventType, owner: UInt64, key: String) throws(WeirError) -> UInt32 {
    let definitions = try Definitions([type], sampled: [false])
    var number: UInt32 = 0
    try WeirError.check { error in
      definitions.withCore {
        weir_define_named(log, owner, key, UInt64(key.utf8.count), $0.baseAddress, &number, error)
      }
    }
    return number
  }

  /// The number of the type defined for `owner` and `key`, which is in UTF-8, or 0.
  func findType(owner: UInt64, key: UnsafeRawBufferPointer) -> UInt32 {
    weir_find_type(log, owner, key.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(key.count))
  }

  // MARK: Context

  /// The most bytes of a global context.
  static var maximumContextBytes: Int { Int(WEIR_MAX_CONTEXT_BYTES) }

  /// Stores a global context, unless it is stored already, and has captures name it from here on; empty for none.
  func setContext(_ bytes: [UInt8]) throws(WeirError) {
    try WeirError.check { error in
      bytes.withUnsafeBytes { weir_set_context(log, $0.baseAddress, UInt64($0.count), error) }
    }
  }

  // MARK: Captures

  /// The type of events that carry their name with them.
  static var dynamicType: UInt32 { UInt32(WEIR_TYPE_DYNAMIC) }

  /// Ends a capture as invalid, counted; answers the reason.
  static func refuseInvalid(_ record: inout weir_record) -> Int32 {
    weir_refuse(&record, Int32(WEIR_DROP_INVALID))
  }
}

/// Refuses a path that C would take to end at a NUL, and that would so name another directory.
package func checkPath(_ path: String) throws(WeirError) {
  guard path.utf8.contains(0) else { return }
  throw WeirError(.invalid, "the path \(path.debugDescription) has a NUL in it; name a directory without", path: path)
}

/// `path` with the working directory before it if it is relative, so that it still names the log after a chdir.
package func absolutePath(_ path: String) -> String {
  guard !path.hasPrefix("/"), let here = getcwd(nil, 0) else { return path }
  defer { free(here) }
  return String(cString: here) + "/" + path
}

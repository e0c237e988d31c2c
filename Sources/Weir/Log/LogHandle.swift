// LogHandle: an open log of the core, and the core's functions beside the capture path.

import CCapture
import CWeir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// An open log. Not an owner: the tracker that opened the log frees it.
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
    guard let log else { throw WeirError(.io, "opening \(directory) returned no log", path: directory) }
    return (LogHandle(log), RecoveryReport(recovery))
  }

  func close() throws(WeirError) {
    try WeirError.check { weir_close(log, $0) }
  }

  /// Closes the log if it is open, and frees it. No call may be in progress, or follow.
  func free() {
    weir_free(log)
  }

  package func drain(_ nanoseconds: UInt64) throws(WeirError) -> Offset {
    var offset: Offset = 0
    try WeirError.check { weir_drain(log, nanoseconds, &offset, $0) }
    return offset
  }

  /// Drains, and lets the segment that is being filled be sealed soon.
  package func seal(_ nanoseconds: UInt64) throws(WeirError) {
    try WeirError.check { weir_seal(log, nanoseconds, nil, $0) }
  }

  package func sync(_ nanoseconds: UInt64) throws(WeirError) -> Offset {
    var offset: Offset = 0
    try WeirError.check { weir_sync(log, nanoseconds, &offset, $0) }
    return offset
  }

  package var durableOffset: Offset { weir_durable_offset(log) }

  /// Calls `done` once, on any thread, when the event is on disk or will never be. If this throws, `done` is never
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

  /// Lets the drainer ring `bell` after events came into the log. Waits for a ring in progress. The caller must retain
  /// the bell until the log is freed.
  func ringWhenDrained(_ bell: DrainBell) {
    weir_on_drained(
      log, { context in context.map { Unmanaged<DrainBell>.fromOpaque($0).takeUnretainedValue().ring() } },
      Unmanaged.passUnretained(bell).toOpaque())
  }

  /// Lets the drainer ring `watch` after captures were refused. The caller must retain the watch until the log is
  /// freed.
  func ringWhenRefused(_ watch: RefusalWatch) {
    weir_on_refused(
      log, { context in if let context { Unmanaged<RefusalWatch>.fromOpaque(context).takeUnretainedValue().ring() } },
      Unmanaged.passUnretained(watch).toOpaque())
  }

  /// A closure as an object, for passing through C.
  private final class Call: Sendable {
    let done: @Sendable (WeirError?) -> Void

    init(_ done: @escaping @Sendable (WeirError?) -> Void) {
      self.done = done
    }
  }

  /// Tells the core that every provider has the events below `offset`, so the core may remove them if
  /// ``Tracker/Configuration/removeDelivered`` is set.
  package func setDelivered(_ offset: Offset) {
    weir_set_delivered(log, offset)
  }

  package func counters() -> Counters {
    var counters = weir_counters()
    weir_count(log, &counters)
    return Counters(counters)
  }

  // MARK: Types

  /// Defines a group of types for `owner`, unless the group is defined already. Types marked in `sampled` take the slow
  /// path.
  func define(_ types: [EventType], owner: UInt64, sampled: [Bool]) throws(WeirError) {
    let definitions = try Definitions(types, sampled: sampled)
    var first: UInt32 = 0
    try WeirError.check { error in
      definitions.withCore { weir_define(log, owner, $0.baseAddress, UInt32($0.count), &first, error) }
    }
  }

  /// Defines one type, to be found by `owner` and `key`, and returns its number.
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

  /// Returns the number of the type defined for `owner` and `key`, or 0. `key` is UTF-8.
  func findType(owner: UInt64, key: UnsafeRawBufferPointer) -> UInt32 {
    weir_find_type(log, owner, key.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(key.count))
  }

  // MARK: Context

  /// The maximum size of a global context, in bytes.
  static var maximumContextBytes: Int { Int(WEIR_MAX_CONTEXT_BYTES) }

  /// Stores a global context, unless it is stored already. Captures refer to it from now on. Empty bytes remove the
  /// context.
  func setContext(_ bytes: [UInt8]) throws(WeirError) {
    try WeirError.check { error in
      bytes.withUnsafeBytes { weir_set_context(log, $0.baseAddress, UInt64($0.count), error) }
    }
  }

  // MARK: Captures

  /// The type of events that carry their own name.
  static var dynamicType: UInt32 { UInt32(WEIR_TYPE_DYNAMIC) }

  /// Ends a capture as invalid, counts the refusal, and returns its code.
  static func refuseInvalid(_ record: inout weir_record) -> Int32 {
    weir_refuse(&record, Int32(WEIR_DROP_INVALID))
  }
}

/// Throws `invalid` for a path with a NUL: C would end the path there, and use another directory.
package func checkPath(_ path: String) throws(WeirError) {
  guard path.utf8.contains(0) else { return }
  throw WeirError(.invalid, "the path \(path.debugDescription) contains a NUL; remove it", path: path)
}

/// Returns `path` as an absolute path, so that it still names the log after the working directory changes.
package func absolutePath(_ path: String) -> String {
  guard !path.hasPrefix("/"), let here = getcwd(nil, 0) else { return path }
  defer { free(here) }
  return String(cString: here) + "/" + path
}

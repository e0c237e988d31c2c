// LogBatching: turns the sealed segments of a log that no process has open into batch segments.

import CCapture
import CWeir

extension LogDirectory {
  /// The result of ``batch(threads:onProgress:)``.
  public struct Batching: Hashable, Sendable {
    /// Sealed raw segments that were found.
    public var segments: UInt64
    /// Segments that became batch segments.
    public var batched: UInt64
    /// Bytes of these segments before the conversion.
    public var inputBytes: UInt64
    /// Bytes of these segments after the conversion.
    public var outputBytes: UInt64
    /// Segments that stay raw because they are damaged: see ``LogDirectory/verify(onFinding:)``.
    public var damaged: UInt64
    /// Segments that stay raw because of a system error.
    public var failed: UInt64
  }

  /// Turns every sealed raw segment into a batch segment, as ``Tracker/Configuration/batchThreads`` does for an open
  /// log. A batch segment takes half to a fifth of the space, and the `lz4` tool reads it.
  ///
  /// Holds the writer's lock during the call. Recovers nothing: unsealed segments stay for the next opening. Waits.
  ///
  /// **Crash.** A process killed at any moment leaves an intact log.
  ///
  /// **Cost.** 0.9 to 1.3 ms of processor time for each MiB, and some 4 MiB of memory for each thread.
  /// - Parameters:
  ///   - threads: The number of threads, 1 to 64.
  ///   - onProgress: Called after each segment with the totals so far, on any of the threads, one call at a time. If it
  ///     returns `false`, no further segment is begun.
  ///
  /// Throws `locked` (another process has the log open), `invalid` (`threads`), `missing`, `directory` or `access`. If
  /// segments failed, throws the first of their errors, such as `noSpace`, after trying the others.
  @discardableResult
  public func batch(
    threads: Int = 1, onProgress: @Sendable (Batching) -> Bool = { _ in true }
  ) throws(WeirError) -> Batching {
    try checkPath(path)
    guard let count = UInt32(exactly: threads) else {
      throw WeirError(.invalid, "threads is \(threads); it must be 1 to \(WEIR_MAX_BATCH_THREADS)", path: path)
    }
    var core = weir_batching()
    var error = weir_error()
    let status = withoutActuallyEscaping(onProgress) { onProgress in
      withUnsafePointer(to: onProgress) { sink in
        weir_batch_directory(
          path, count,
          { context, sums in
            guard let context, let sums else { return 0 }
            let report = context.assumingMemoryBound(to: (@Sendable (Batching) -> Bool).self).pointee
            return report(Batching(sums.pointee)) ? 0 : 1
          }, UnsafeMutableRawPointer(mutating: sink), &core, &error)
      }
    }
    if Int(status) != WEIR_OK { throw WeirError(status, error) }
    return Batching(core)
  }
}

extension LogDirectory.Batching {
  init(_ core: weir_batching) {
    self.init(
      segments: core.segments, batched: core.done, inputBytes: core.input, outputBytes: core.output,
      damaged: core.unbatched, failed: core.failed)
  }
}

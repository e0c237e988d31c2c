// LogBatching: turns the sealed segments of a log that nobody has open into batch segments.

import CCapture
import CWeir

extension LogDirectory {
  /// What ``batch(threads:onProgress:)`` did.
  public struct Batching: Hashable, Sendable {
    /// Sealed segments that were raw.
    public var segments: UInt64
    /// Of them, those that are batch segments now.
    public var batched: UInt64
    /// Bytes of those before.
    public var inputBytes: UInt64
    /// Their bytes now.
    public var outputBytes: UInt64
    /// Those that stay raw, because something in them is damaged: ``LogDirectory/verify(onFinding:)`` says what.
    public var damaged: UInt64
    /// Those that an error of the system kept raw.
    public var failed: UInt64
  }

  /// Turns every sealed raw segment into a batch segment, a file that takes a half to a fifth of the space and that
  /// the `lz4` tool reads, as ``Tracker/Configuration/batchThreads`` does for an open log.
  ///
  /// Takes the writer's lock for as long. Recovers nothing: what is not sealed stays for the next opening. Killed at
  /// any moment, the log is whole. Costs 0.9 to 1.3 ms of a processor a MiB, and some 4 MiB of memory a thread. Waits.
  ///
  /// - Parameters:
  ///   - threads: How many work, 1 to 64.
  ///   - onProgress: Called after each segment with the sums so far, from any of the threads but one at a time; if it
  ///     answers false, no further segment is begun.
  ///
  /// Throws `locked` (a writer has it open), `invalid` (threads), `missing`, `directory`, `access`; after all others
  /// were tried, the first error of a segment that failed, such as `noSpace`.
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

// FailingDisk: simulates a disk that fills up or fails under a tracker.

import CFailing
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A directory on a simulated disk that fills up or fails when a test says so. Needs no root and no real disk.
///
/// ```swift
/// @Test(.enabled(if: FailingDisk.isAvailable)) func ordersGoOnWhileTheDiskIsFull() throws {
///   let disk = try FailingDisk()
///   let spy = try SpyTracker(on: disk)
///   let shop = Shop(tracker: spy.tracker)
///   disk.fill()
///   shop.buy(cart: 7)              // must neither wait nor fail
///   disk.mend()
///   #expect(spy.events(of: Checkout.self).count == 1)
/// }
/// ```
/// **Faults.** The library's system calls on files in ``directory`` return the error without being made. Other logs and
/// files of the process are not affected, so tests may run in parallel. Memory that is already mapped does not fail. As
/// on a real disk, events for which a segment file has room, some megabytes, are still captured and drained while the
/// disk is full. Only then are captures refused as `DropReason.storage`.
///
/// **Availability.** Only in debug builds of the library, such as those of `swift test` without `-c release`:
/// production code contains no simulated faults. ``isAvailable`` tells whether faults can be simulated. If not, the
/// initialiser throws. If an app only needs refusals, use `Tracker.Configuration.byteLimit` with
/// `Tracker.ByteLimitPolicy.refuse`, which works in every build.
///
/// **Threads.** Any thread may call any member. The release of the last reference mends the disk and removes the
/// directory.
public final class FailingDisk: Sendable {
  /// Kinds of system calls.
  public struct Calls: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    /// Making files and directories.
    public static let create = Calls(rawValue: UInt32(WEIR_FAIL_CREATE))
    /// Allocating blocks of the disk for a file.
    public static let grow = Calls(rawValue: UInt32(WEIR_FAIL_GROW))
    /// Writing into files by a system call.
    public static let write = Calls(rawValue: UInt32(WEIR_FAIL_WRITE))
    /// Syncing to disk.
    public static let sync = Calls(rawValue: UInt32(WEIR_FAIL_SYNC))
    /// Renaming and removing files.
    public static let rename = Calls(rawValue: UInt32(WEIR_FAIL_RENAME))
    /// Reading files by a system call.
    public static let read = Calls(rawValue: UInt32(WEIR_FAIL_READ))
    /// All calls that change files or sync to disk.
    public static let changes: Calls = [.create, .grow, .write, .sync, .rename]
  }

  /// The error that a call returns.
  public enum Fault: Hashable, Sendable {
    /// No space is left: `ENOSPC`.
    case noSpace
    /// The disk can't read or write: `EIO`.
    case io
    /// The file system has become read-only: `EROFS`.
    case readOnly
    /// Another errno.
    case systemError(Int32)

    var number: Int32 {
      switch self {
      case .noSpace: ENOSPC
      case .io: EIO
      case .readOnly: EROFS
      case .systemError(let number): number
      }
    }
  }

  /// Whether faults can be simulated in this build.
  public static var isAvailable: Bool { weir_fail_available() != 0 }

  /// The directory for a log: see `Tracker.init(directory:configuration:)`.
  public var directory: String { place.path }

  let place: MemoryDirectory
  private let rules = Lock<Rules>(Rules())

  private struct Rules {
    var inForce: [Int32] = []
    var failuresBefore: UInt64 = 0
  }

  /// Creates a directory on a disk that works. Throws in release builds.
  public init() throws(TestKitError) {
    guard Self.isAvailable else {
      throw TestKitError("disk faults can't be simulated in a release build; run the tests in a debug build")
    }
    place = try MemoryDirectory(in: MemoryDirectory.disk)
  }

  deinit {
    mend()
  }

  /// Makes the disk full. Files with allocated blocks can be written; no file can be made or grow.
  public func fill() {
    fail([.create, .grow], with: .noSpace)
  }

  /// Makes calls of these kinds fail from now on: `passing` calls pass, then `times` calls fail; `nil` for all.
  ///
  /// A tracker prepares and syncs files on its own threads, so the order of its calls may differ between runs. Faults
  /// are combined until ``mend()``. If two faults match a call, one of them is returned. At most 32 faults can be
  /// active in a process.
  public func fail(_ calls: Calls, with fault: Fault, after passing: Int = 0, times: Int? = nil) {
    let rule = weir_fail_begin(
      directory, calls.rawValue, UInt64(max(passing, 0)), times.map { UInt64(max($0, 0)) } ?? .max, fault.number)
    precondition(rule > 0, "the fault can't be set: \(calls), \(fault), or 32 faults are active already")
    rules.withLock { $0.inForce.append(rule) }
  }

  /// Makes the disk work again.
  public func mend() {
    rules.withLock { rules in
      for rule in rules.inForce {
        rules.failuresBefore += weir_fail_count(rule)
        weir_fail_end(rule)
      }
      rules.inForce = []
    }
  }

  /// The number of calls that have failed so far. A test that depends on a fault should check that the fault occurred.
  public var failures: UInt64 {
    rules.withLock { rules in rules.inForce.reduce(rules.failuresBefore) { $0 + weir_fail_count($1) } }
  }
}

// FailingDisk: a disk that fills up or fails under a tracker.

import CFailing
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A directory on a disk that fills up or fails when a test says so, without root and without a real disk.
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
///
/// **What fails** are the calls of the library on files in ``directory``: they report the error without being made.
/// Other logs of the process, and its other files, go on as before, so tests may run beside each other. Memory that is
/// mapped already does not fail: as on a real disk, what a segment file has room for is captured and drained while the
/// disk is full, some megabytes, and captures are refused as ``DropReason/storage`` only after that.
///
/// **Availability.** Only where the library is built for debugging, as it is by `swift test` without `-c release`:
/// production code has no such fault in it. ``isAvailable`` says so, and making one throws where it is not. For an app
/// that only wants to see refusals, ``Tracker/Configuration/byteLimit`` with ``Tracker/ByteLimitPolicy/refuse`` gives
/// them in every build.
///
/// Every call may be made from any thread. The disk is mended, and the directory removed, with the last reference.
public final class FailingDisk: Sendable {
  /// Kinds of calls.
  public struct Calls: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    /// Making files and directories.
    public static let create = Calls(rawValue: UInt32(WEIR_FAIL_CREATE))
    /// Taking blocks of the disk for a file.
    public static let grow = Calls(rawValue: UInt32(WEIR_FAIL_GROW))
    /// Writing into files by a call.
    public static let write = Calls(rawValue: UInt32(WEIR_FAIL_WRITE))
    /// Waiting for the disk.
    public static let sync = Calls(rawValue: UInt32(WEIR_FAIL_SYNC))
    /// Renaming and removing files.
    public static let rename = Calls(rawValue: UInt32(WEIR_FAIL_RENAME))
    /// Reading files by a call.
    public static let read = Calls(rawValue: UInt32(WEIR_FAIL_READ))
    /// All that change files or wait for the disk.
    public static let changes: Calls = [.create, .grow, .write, .sync, .rename]
  }

  /// What a call reports.
  public enum Fault: Hashable, Sendable {
    /// No space is left: `ENOSPC`.
    case noSpace
    /// The disk can't read or write: `EIO`.
    case io
    /// The file system has become read-only: `EROFS`.
    case readOnly
    /// Another number of the system.
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

  /// Whether calls can be made to fail in this build.
  public static var isAvailable: Bool { weir_fail_available() != 0 }

  /// The directory to open a log in: ``Tracker/init(directory:configuration:)``.
  public var directory: String { place.path }

  let place: MemoryDirectory
  private let rules = Lock<Rules>(Rules())

  private struct Rules {
    var inForce: [Int32] = []
    var failuresBefore: UInt64 = 0
  }

  /// Makes a directory on a disk that works so far.
  public init() throws(TestKitError) {
    guard Self.isAvailable else {
      throw TestKitError("no disk can be made to fail in a release build: run the tests in a debug build")
    }
    place = try MemoryDirectory(in: MemoryDirectory.disk)
  }

  deinit {
    mend()
  }

  /// The disk is full from now on: files that have blocks can be written, none can be made or grow.
  public func fill() {
    fail([.create, .grow], with: .noSpace)
  }

  /// From now on, of the calls of these kinds so many pass, and then so many fail; nil for all.
  ///
  /// A tracker makes files ready and syncs them in threads of its own, so which of its calls is the n-th may differ
  /// from run to run. Faults add up until ``mend()``; where two concern a call, one of them is reported. At most 32 are
  /// in force in a process.
  public func fail(_ calls: Calls, with fault: Fault, after passing: Int = 0, times: Int? = nil) {
    let rule = weir_fail_begin(
      directory, calls.rawValue, UInt64(max(passing, 0)), times.map { UInt64(max($0, 0)) } ?? .max, fault.number)
    precondition(rule > 0, "no such fault is possible: \(calls), \(fault), or there are 32 already")
    rules.withLock { $0.inForce.append(rule) }
  }

  /// The disk works again.
  public func mend() {
    rules.withLock { rules in
      for rule in rules.inForce {
        rules.failuresBefore += weir_fail_count(rule)
        weir_fail_end(rule)
      }
      rules.inForce = []
    }
  }

  /// How many calls have failed so far: a test that depends on a fault should see that it happened.
  public var failures: UInt64 {
    rules.withLock { rules in rules.inForce.reduce(rules.failuresBefore) { $0 + weir_fail_count($1) } }
  }
}

// Subject.swift: what the capture benchmark measures. A subject is anything that takes an event from the calling thread;
// one file each under Subjects/, listed once in `subjects`.

/// Something that captures the benchmark's event: an order number, a double, a small integer, and a string of 20 bytes
/// that the caller holds.
///
/// A subject is made anew for each round, in a folder of its own, and used by `threads` threads at once.
protocol Subject: AnyObject, Sendable {
  /// The name in the table and in the results.
  static var name: String { get }

  /// Bytes of the event that the subject is given, without its own headers.
  static var eventBytes: Int { get }

  /// Opens in `directory`, which exists and is empty.
  init(directory: String, threads: Int) throws

  /// Captures `count` events with the orders `first`, `first + 1`, … and answers how many were accepted. Called on
  /// `threads` threads at once, with the same `thread` always on the same one. Must hold no work but the captures.
  func burst(thread: Int, first: UInt64, count: Int) -> Int

  /// Called between two bursts, when none is running: waits until what was captured is out of the way of the next one.
  func settle() throws

  /// Ends, and answers what became of the events.
  func finish() throws -> Delivery
}

/// What became of a subject's events, by its own books and by reading them back.
struct Delivery {
  /// Events that the subject counted as accepted; nil if it keeps no count.
  var accepted: Int?
  /// Captures that it refused.
  var dropped = 0
  /// Events found where they end up; nil if there is nowhere to look.
  var delivered: Int?
}

/// Why a subject could not be measured.
struct SubjectFailure: Error, CustomStringConvertible {
  var description: String
}

/// All subjects, in the order of the table. The first is what the others are divided by.
let subjects: [any Subject.Type] = [
  FloorSubject.self,
  DrainedFloorSubject.self,
  WeirCSubject.self,
  WeirCCallSubject.self,
  WeirSwiftSubject.self,
  WeirCodableSubject.self,
]

/// The string that each thread holds, made at run time so that it is not a constant, and not shared between threads, as
/// it is not in a program either.
func makeCoupons(threads: Int) -> [String] {
  (0..<threads).map { thread in "SPRING-SALE-2026-\(100 + thread % 900)" }
}

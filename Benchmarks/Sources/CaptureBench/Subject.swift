// Subject.swift: what is measured. A subject is anything that takes an event from the calling thread; one file each
// under Subjects/, listed once in Candidates.swift.
import CaptureSubjects

/// Something that captures the benchmark's event: an order number, a double, a small integer, a string of 20 bytes that
/// the caller holds, and the time.
///
/// A subject is made anew for each round, in a folder of its own, and used by several threads at once.
protocol Subject: AnyObject, Sendable {
  /// Captures `count` events with the orders `first`, `first + 1`, … and answers how many were accepted. Called on all
  /// threads at once, with the same `thread` always on the same one. Must hold no work but the captures.
  func burst(thread: Int, first: UInt64, count: Int) -> Int

  /// Called between two bursts, when none is running, from a thread that does not capture, on another processor: waits
  /// until what was captured is out of the way of the next one.
  func settle() throws

  /// Ends, and answers what became of the events.
  func finish() throws -> Delivery
}

/// A subject that can also take the time of each capture alone.
protocol TimedSubject: Subject {
  /// As `burst`, with `gap` ticks from the start of one capture to that of the next; the ticks that each took go to
  /// `ticks`.
  func timedBurst(thread: Int, first: UInt64, count: Int, gap: UInt64, into ticks: UnsafeMutablePointer<UInt32>) -> Int

  /// The file of the ring, to disturb.
  var ring: String { get }
}

/// How a subject is to be opened.
struct Setup: Sendable {
  /// Exists and is empty.
  var directory = ""
  var threads = 1
  /// Bytes of the string; with another length than the standard event's, the string is the whole event.
  var textBytes = Int(CHECKOUT_TEXT)
  var clock = Clock.automatic
  /// Wait for room for ever, instead of refusing.
  var waits = false

  var isCheckout: Bool { textBytes == Int(CHECKOUT_TEXT) }

  /// As the results have it: the standard event with its time, or the string alone.
  var eventBytes: Int { isCheckout ? 48 : textBytes }

  /// The string that each thread holds, made at run time so that it is not a constant. Not shared between threads, nor
  /// so near to another's that their reference counts lie in one cache line: a program's threads have their own too.
  var texts: [String] {
    (0..<threads).map { thread in
      let part = "SPRING-SALE-2026-\(100 + thread % 900)"
      var text = ""
      text.reserveCapacity(max(256, textBytes))
      while text.utf8.count + part.utf8.count <= textBytes { text += part }
      text += part.prefix(textBytes - text.utf8.count)
      return text
    }
  }

  /// The same as C has it.
  var cTexts: [[CChar]] { texts.map { $0.utf8.map { CChar(bitPattern: $0) } } }
}

/// What became of a subject's events, by its own books and by reading them back.
struct Delivery {
  /// Events that the subject counted as accepted; nil if it keeps no count.
  var accepted: Int?
  /// Captures that it refused, and told the caller.
  var refused: Int?
  /// Events that it took and then discarded, as it says itself.
  var discarded = 0
  /// Events found where they end up; nil if there is nowhere to look.
  var delivered: Int?
}

/// Why a subject could not be measured.
struct SubjectFailure: Error, CustomStringConvertible {
  var description: String
}

/// Why a subject cannot be measured on this machine.
struct Skipped: Error {
  var reason: String
}

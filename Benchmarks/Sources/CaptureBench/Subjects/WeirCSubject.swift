// WeirCSubject.swift: Weir's C interface, inlined (begin, put, commit) and in one call (weir_capture).
import CaptureSubjects

/// `weir_begin`, `weir_put_…`, `weir_commit`, compiled into the caller's loop.
final class WeirCSubject: TimedSubject {
  let log: CLog

  init(_ setup: Setup) throws {
    log = try CLog(setup)
  }

  var ring: String { log.directory + "/ring" }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    Int(weir_subject_burst(log.subject, first, UInt64(count), log.texts[thread]))
  }

  func timedBurst(thread: Int, first: UInt64, count: Int, gap: UInt64, into ticks: UnsafeMutablePointer<UInt32>) -> Int
  {
    Int(weir_subject_burst_timed(log.subject, first, UInt64(count), log.texts[thread], gap, ticks))
  }

  func settle() throws { try log.settle() }
  func finish() throws -> Delivery { try log.finish() }
}

/// The fields put together by the caller, then one call of `weir_capture`.
final class WeirCCallSubject: Subject {
  private let log: CLog

  init(_ setup: Setup) throws {
    log = try CLog(setup)
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    Int(weir_subject_burst_call(log.subject, first, UInt64(count), log.texts[thread]))
  }

  func settle() throws { try log.settle() }
  func finish() throws -> Delivery { try log.finish() }
}

/// A log opened through C. Sendable because every call that is made on it may overlap with the others.
final class CLog: @unchecked Sendable {
  let subject: OpaquePointer
  let texts: [[CChar]]
  let directory: String

  init(_ setup: Setup) throws {
    var message = [CChar](repeating: 0, count: 1024)
    var options = weir_setup(
      threads: UInt32(setup.threads), clock: setup.clock.rawValue, text_bytes: UInt64(setup.textBytes),
      full_wait_ns: setup.waits ? .max : 0)
    directory = setup.directory + "/log"
    guard let subject = weir_subject_open(directory, &options, &message) else {
      let text = String(cBytes: message)
      guard setup.clock == .automatic else { throw Skipped(reason: "the clock can't be had: \(text)") }
      throw SubjectFailure(description: text)
    }
    self.subject = subject
    texts = setup.cTexts
  }

  func settle() throws {
    guard weir_subject_drain(subject) == 0 else { throw SubjectFailure(description: "weir_drain failed") }
  }

  func finish() throws -> Delivery {
    var accepted: UInt64 = 0
    var dropped: UInt64 = 0
    guard weir_subject_close(subject, &accepted, &dropped) == 0 else {
      throw SubjectFailure(description: "weir_close failed")
    }
    return Delivery(accepted: Int(accepted), refused: Int(dropped), delivered: Int(weir_count_events(directory)))
  }
}

/// How a log takes the time: the core's numbers.
enum Clock: UInt32, Sendable {
  case automatic = 0
  case counter = 1
  case coarse = 3
  case tick = 4
}

extension String {
  /// The text of a C array up to its zero.
  init(cBytes: [CChar]) {
    self.init(decoding: cBytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

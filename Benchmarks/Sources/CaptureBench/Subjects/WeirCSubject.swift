// WeirCSubject.swift: Weir's C interface, inlined (begin, put, commit) and in one call (weir_capture).
import CaptureSubjects

/// `weir_begin`, `weir_put_…`, `weir_commit`, compiled into the caller's loop.
final class WeirCSubject: Subject {
  static let name = "weir-c"
  static let eventBytes = 44

  private let log: CLog

  init(directory: String, threads: Int) throws {
    log = try CLog(directory: directory, threads: threads)
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    let coupon = log.coupons[thread]
    return Int(weir_subject_burst(log.subject, first, UInt64(count), coupon, UInt64(coupon.count)))
  }

  func settle() throws { try log.settle() }
  func finish() throws -> Delivery { try log.finish() }
}

/// The fields put together by the caller, then one call of `weir_capture`.
final class WeirCCallSubject: Subject {
  static let name = "weir-c-call"
  static let eventBytes = 44

  private let log: CLog

  init(directory: String, threads: Int) throws {
    log = try CLog(directory: directory, threads: threads)
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    let coupon = log.coupons[thread]
    return Int(weir_subject_burst_call(log.subject, first, UInt64(count), coupon, UInt64(coupon.count)))
  }

  func settle() throws { try log.settle() }
  func finish() throws -> Delivery { try log.finish() }
}

/// A log opened through C. Sendable because every call that is made on it may overlap with the others.
private final class CLog: @unchecked Sendable {
  let subject: OpaquePointer
  let coupons: [[CChar]]
  private let directory: String

  init(directory: String, threads: Int) throws {
    var message = [CChar](repeating: 0, count: 1024)
    guard let subject = weir_subject_open(directory + "/log", &message) else {
      throw SubjectFailure(description: String(decoding: message.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
    }
    self.subject = subject
    self.directory = directory + "/log"
    coupons = makeCoupons(threads: threads).map { $0.utf8.map { CChar(bitPattern: $0) } }
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
    return Delivery(
      accepted: Int(accepted), dropped: Int(dropped), delivered: Int(weir_count_events(directory)))
  }
}

// Idle.swift: what an open log costs while nothing happens, and how long the first event after that takes to be
// readable.
import CaptureSubjects
import Foundation

func measureIdle(seconds: Double, _ session: Session) throws {
  try session.inFolder { folder in
    let setup = Setup(directory: folder)
    // The thread that captures then polls: on a processor of its own, or it would keep the drainer from running.
    let placement = Placement(threads: 1)
    Placement.pin(to: placement.others)
    let subject = try WeirCSubject(setup)
    Placement.pin(to: placement.capturing)
    _ = subject.burst(thread: 0, first: 0, count: 100)
    try subject.settle()
    usleep(500_000)  // all threads sleep

    let before = Usage(subject.log.subject)
    usleep(UInt32(seconds * 1e6))
    let after = Usage(subject.log.subject)

    var wakeups = Outcome("idle", "weir-c", setup, unit: "wakeups/s")
    wakeups.samples = [Double(after.wakeups - before.wakeups) / seconds]
    // The measuring thread's own sleep is one of them.
    var sleeps = Outcome("idle", "weir-c-process", setup, unit: "wakeups/s")
    sleeps.samples = [Double(max(1, after.sleeps - before.sleeps) - 1) / seconds]
    var processor = Outcome("idle", "weir-c-process", setup, unit: "percent of a core")
    processor.samples = [Double(after.processor - before.processor) / 1e9 / seconds * 100]

    var inLog = Outcome("idle", "weir-c-first-in-log", setup)
    var read = Outcome("idle", "weir-c-first-read", setup)
    for _ in 0..<100 {
      usleep(200_000)  // the drainer sleeps
      var logged: UInt64 = 0
      var given: UInt64 = 0
      let log = subject.log
      guard weir_subject_first_event(log.subject, log.directory, log.texts[0], &logged, &given) == 0 else {
        throw SubjectFailure(description: "an event after idle could not be read for a second")
      }
      inLog.samples.append(Double(logged))
      read.samples.append(Double(given))
    }
    read.settle(told: [200], attempted: 200, delivery: try subject.finish())
    for outcome in [wakeups, sleeps, processor, inLog, read] { session.add(outcome) }
  }
}

/// Counters at a moment.
private struct Usage {
  var wakeups: UInt64 = 0
  var processor: UInt64 = 0
  var sleeps: UInt64 = 0

  init(_ subject: OpaquePointer) {
    var accepted: UInt64 = 0
    var offset: UInt64 = 0
    weir_subject_count(subject, &accepted, &wakeups, &offset)
    support_usage(&processor, &sleeps)
  }
}

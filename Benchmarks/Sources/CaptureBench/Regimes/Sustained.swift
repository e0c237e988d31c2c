// Sustained.swift: more than memory buffers, drained into the log while it is captured, nothing dropped; beside it, in
// the same run and from the same state of the page cache, what bare writes of as many bytes into a preallocated file
// reach.
import CaptureSubjects
import Foundation
import Synchronization

/// Bytes of a record of the standard event in lane and log: a header of 24, the fields, padding.
private let recordBytes = 72

func measureSustained(_ candidates: [Candidate], bytes: Int, rounds: Int, _ session: Session) throws {
  let setup = Setup()
  var mapped = Outcome("sustained", "memcpy-mapped", setup, unit: "MB/s")
  var written = Outcome("sustained", "pwrite", setup, unit: "MB/s")
  var outcomes = candidates.flatMap { candidate in
    [2, 3].map { Outcome("sustained", candidate.name, Setup(threads: $0, waits: true), unit: "MB/s") }
  }
  for _ in 0..<rounds {
    for fill in [files_fill_mapped, files_fill_written].enumerated() {
      try session.inFolder { folder in
        if files_settle_cache() == 0 { session.note("sustained: not root, so the page cache was not dropped") }
        let nanoseconds = fill.element(folder + "/bytes", UInt64(bytes), 1 << 18)
        guard nanoseconds > 0 else { throw SubjectFailure(description: "could not fill a file of \(bytes) bytes") }
        let rate = Double(bytes) / Double(nanoseconds) * 1000
        if fill.offset == 0 { mapped.samples.append(rate) } else { written.samples.append(rate) }
      }
    }
    for index in outcomes.indices {
      let candidate = candidates[index / 2]
      try session.attempt(candidate.name) {
        try session.inFolder { folder in
          _ = files_settle_cache()
          let setup = Setup(directory: folder, threads: outcomes[index].threads, waits: true)
          try runSustained(candidate, setup, events: bytes / recordBytes, into: &outcomes[index])
        }
      }
    }
  }
  for outcome in [mapped, written] + outcomes where !outcome.samples.isEmpty { session.add(outcome) }
}

private func runSustained(_ candidate: Candidate, _ setup: Setup, events: Int, into outcome: inout Outcome) throws {
  let placement = Placement(threads: setup.threads)
  Placement.pin(to: placement.others)
  let subject = try candidate.open(setup)
  let share = events / setup.threads
  let accepted = Mutex<[Int]>([])
  let start = support_now_ns()
  Workers.run(on: placement.capturing) { thread in
    let count = subject.burst(thread: thread, first: 0, count: share)
    accepted.withLock { $0.append(count) }
  }
  try subject.settle()
  let nanoseconds = support_now_ns() - start
  let told = accepted.withLock { $0 }
  outcome.samples.append(Double(told.reduce(0, +) * recordBytes) / Double(nanoseconds) * 1000)
  outcome.settle(told: told, attempted: share * setup.threads, delivery: try subject.finish())
}

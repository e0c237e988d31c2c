// Saturation.swift: threads that capture as fast as they can for a fixed time, whatever the subject does when it is
// full.
import CaptureSubjects
import Foundation
import Synchronization

/// Accepted captures a second, the refused ones, and the least and the most that one thread got in.
func measureSaturation(_ candidates: [Candidate], threads: Int, rounds: Int, _ session: Session) throws {
  let setup = Setup(threads: threads)
  var outcomes = candidates.map { Outcome("saturation", $0.name, setup, unit: "events/s") }
  for round in 0..<rounds {
    for turn in candidates.indices {
      let index = (turn + round) % candidates.count
      guard !session.isSkipped(candidates[index].name) else { continue }
      try session.attempt(candidates[index].name) {
        try session.inFolder { folder in
          var setup = setup
          setup.directory = folder
          try runFlatOut(candidates[index], setup, seconds: 0.3, into: &outcomes[index])
        }
      }
    }
  }
  for outcome in outcomes where !outcome.samples.isEmpty { session.add(outcome) }
}

private func runFlatOut(_ candidate: Candidate, _ setup: Setup, seconds: Double, into outcome: inout Outcome) throws {
  let placement = Placement(threads: setup.threads)
  Placement.pin(to: placement.others)
  let subject = try candidate.open(setup)
  let barrier = SpinBarrier(threads: setup.threads)
  let results = Mutex(Round())
  let nanoseconds = UInt64(seconds * 1e9)

  Workers.run(on: placement.capturing) { thread in
    let piece = 500
    var round = Round()
    var accepted = 0
    barrier.wait()
    let start = support_now_ns()
    while support_now_ns() - start < nanoseconds {
      accepted += subject.burst(thread: thread, first: UInt64(round.attempted), count: piece)
      round.attempted += piece
    }
    round.samples = [Double(accepted) / (Double(support_now_ns() - start) / 1e9)]
    round.accepted = [accepted]
    results.withLock { $0.add(round) }
  }

  let round = results.withLock { $0 }
  let told = round.accepted.reduce(0, +)
  let kept = outcome.settle(told: round.accepted, attempted: round.attempted, delivery: try subject.finish())
  outcome.samples.append(round.samples.reduce(0, +) * Double(kept) / Double(max(1, told)))
}

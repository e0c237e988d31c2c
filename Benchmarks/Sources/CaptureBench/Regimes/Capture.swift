// Capture.swift: paced bursts, the measurement that ratios are taken from. Subjects take turns, so that whatever else
// the machine does falls on all of them alike.
import CaptureSubjects
import Foundation
import Synchronization

/// How much is measured.
struct Plan {
  var rounds: Int
  /// Bursts a round that count.
  var bursts: Int
  /// Bursts a round that do not: lanes are claimed, types defined, pages touched.
  var warmUp = 10
  /// Captures a burst and thread; few enough to fit into a lane.
  var events: Int

  /// Captures a burst of events of this size: a burst fits into two thirds of a lane, whatever precedes each event.
  func events(for candidate: Candidate, _ setup: Setup) -> Int {
    let record = setup.eventBytes + 32
    return max(20, min(events / candidate.slowness, Int(FLOOR_LANE_BYTES) * 2 / 3 / record))
  }
}

/// Measures `candidates`, each opened once a round as `setup` says, in an order that changes from round to round.
func measureBursts(
  _ bench: String, _ candidates: [Candidate], _ setup: Setup, _ plan: Plan, _ session: Session
) throws {
  var outcomes = candidates.map { Outcome(bench, $0.name, setup) }
  for round in 0..<plan.rounds {
    for turn in candidates.indices {
      let index = (turn + round) % candidates.count
      guard !session.isSkipped(candidates[index].name) else { continue }
      try session.attempt(candidates[index].name) {
        try session.inFolder { folder in
          var setup = setup
          setup.directory = folder
          try runBursts(candidates[index], setup, plan, into: &outcomes[index])
        }
      }
    }
  }
  for outcome in outcomes where !outcome.samples.isEmpty { session.add(outcome) }
}

private func runBursts(_ candidate: Candidate, _ setup: Setup, _ plan: Plan, into outcome: inout Outcome) throws {
  let placement = Placement(threads: setup.threads)
  Placement.pin(to: placement.others)  // inherited by the threads that the subject starts
  let subject = try candidate.open(setup)
  let barrier = SpinBarrier(threads: setup.threads + 1)
  let results = Mutex(Round())
  let events = plan.events(for: candidate, setup)
  let bursts = plan.warmUp + plan.bursts

  // Between bursts the capturing threads spin: one that had slept would be measured waking up. This thread, on another
  // processor, waits in their place.
  let workers = Workers(on: placement.capturing) { thread in
    var round = Round()
    var accepted = 0
    round.samples.reserveCapacity(plan.bursts)
    for burst in 0..<bursts {
      barrier.wait()
      let start = support_now_ns()
      let count = subject.burst(thread: thread, first: UInt64(burst * events), count: events)
      let end = support_now_ns()
      accepted += count
      if burst >= plan.warmUp { round.samples.append(Double(end - start) / Double(events)) }
      barrier.wait()
    }
    round.accepted = [accepted]
    results.withLock { $0.add(round) }
  }
  var failure: (any Error)?
  for _ in 0..<bursts {
    barrier.wait()
    barrier.wait()
    do { try subject.settle() } catch { failure = error }
  }
  workers.wait()
  if let failure { throw failure }

  let round = results.withLock { $0 }
  outcome.samples += round.samples
  outcome.settle(
    told: round.accepted, attempted: bursts * events * setup.threads,
    delivery: try subject.finish())
}

/// What the threads of one round bring back.
struct Round {
  var samples: [Double] = []
  /// Accepted captures, a number a thread.
  var accepted: [Int] = []
  /// Captures that were tried, all threads together, where that is not known beforehand.
  var attempted = 0

  mutating func add(_ other: Round) {
    samples += other.samples
    accepted += other.accepted
    attempted += other.attempted
  }
}

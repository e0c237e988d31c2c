// Measurement.swift: the rounds. Subjects take turns, so that whatever else the machine does falls on all of them alike.
import CaptureSubjects
import Foundation
import Synchronization

/// How much is measured.
struct Plan {
  var rounds: Int
  /// Bursts a round that count.
  var bursts: Int
  /// Bursts a round that do not: lanes are claimed, types defined, pages touched.
  var warmUp = 20
  /// Captures a burst and thread; few enough to fit into a lane.
  var events: Int
}

/// What one subject showed with one number of threads.
struct Outcome {
  let subject: any Subject.Type
  let threads: Int
  /// Nanoseconds an event, averaged over a burst of one thread; one number a burst and thread.
  var samples: [Double] = []
  var accepted = 0
  var dropped = 0
  /// What does not add up, in words.
  var complaints: [String] = []

  mutating func add(samples: [Double], told: Int, attempted: Int, delivery: Delivery) {
    self.samples += samples
    accepted += told
    dropped += attempted - told
    let name = "\(subject.name) on \(threads) threads"
    if let counted = delivery.accepted, counted != told {
      complaints.append("\(name): \(told) captures were told accepted, the counters say \(counted)")
    }
    if delivery.dropped != attempted - told {
      complaints.append("\(name): \(attempted - told) captures were refused, the counters say \(delivery.dropped)")
    }
    if let delivered = delivery.delivered, delivered != told {
      complaints.append("\(name): \(told) events were accepted, \(delivered) are in the log")
    }
  }
}

/// Measures `chosen` with `threads` threads, each subject once a round, in an order that changes from round to round.
func measure(_ chosen: [any Subject.Type], threads: Int, plan: Plan, in folder: URL) throws -> [Outcome] {
  var outcomes = chosen.map { Outcome(subject: $0, threads: threads) }
  for round in 0..<plan.rounds {
    for turn in outcomes.indices {
      let index = (turn + round) % outcomes.count
      let place = folder.appendingPathComponent("round", isDirectory: true)
      try? FileManager.default.removeItem(at: place)
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: place) }
      try run(outcomes[index].subject, into: &outcomes[index], plan: plan, directory: place.path)
    }
  }
  return outcomes
}

private func run(_ type: any Subject.Type, into outcome: inout Outcome, plan: Plan, directory: String) throws {
  let placement = Placement(threads: outcome.threads)
  Placement.pin(to: placement.others)  // inherited by the threads that the subject starts
  let subject = try type.init(directory: directory, threads: outcome.threads)
  let barrier = SpinBarrier(threads: outcome.threads)
  let results = Mutex(Round())

  Workers.run(on: placement.capturing) { thread in
    var round = Round()
    round.samples.reserveCapacity(plan.bursts)
    for burst in 0..<plan.warmUp + plan.bursts {
      barrier.wait()
      let start = support_now_ns()
      let accepted = subject.burst(thread: thread, first: UInt64(burst * plan.events), count: plan.events)
      let end = support_now_ns()
      round.told += accepted
      if burst >= plan.warmUp { round.samples.append(Double(end - start) / Double(plan.events)) }
      barrier.wait()
      if thread == 0 {
        do { try subject.settle() } catch { round.failure = "\(error)" }
      }
    }
    results.withLock { $0.add(round) }
  }

  let round = results.withLock { $0 }
  if let failure = round.failure { throw SubjectFailure(description: "\(type.name): \(failure)") }
  let attempted = (plan.warmUp + plan.bursts) * plan.events * outcome.threads
  outcome.add(samples: round.samples, told: round.told, attempted: attempted, delivery: try subject.finish())
}

/// What the threads of one round bring back.
private struct Round {
  var samples: [Double] = []
  var told = 0
  var failure: String?

  mutating func add(_ other: Round) {
    samples += other.samples
    told += other.told
    failure = failure ?? other.failure
  }
}

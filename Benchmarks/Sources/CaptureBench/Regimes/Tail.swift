// Tail.swift: the slowest captures. Each one is timed by itself, at a steady pace of a million a second, with the
// drainer at work, while the file of the ring is in one of four situations.
import CaptureSubjects
import Foundation
import Histogram
import Synchronization

/// Where the ring is, and what happens to it meanwhile.
enum RingPlace: String, CaseIterable {
  /// In memory: no writeback.
  case tmpfs
  /// On the disk of the benchmark's folder, left alone.
  case disk
  /// The same, and another thread writes 200 MB/s to the same file system, with a sync at every 64 MiB.
  case diskBusy = "disk-busy"
  /// The same, and the ring's own pages are written back every 50 ms.
  case diskWriteback = "disk-writeback"
}

/// Percentiles of single captures, for each place.
func measureTail(_ candidates: [Candidate], rounds: Int, _ session: Session) throws {
  let nanosecondsATick = support_ns_a_tick()
  for place in RingPlace.allCases {
    var outcomes = candidates.map { candidate in
      var outcome = Outcome("tail", candidate.name, Setup())
      outcome.ring = place.rawValue
      return outcome
    }
    var histograms = candidates.map { _ in
      Histogram<UInt64>(highestTrackableValue: 10_000_000_000, numberOfSignificantValueDigits: .three)
    }
    for round in 0..<rounds {
      for turn in candidates.indices {
        let index = (turn + round) % candidates.count
        try session.attempt(candidates[index].name) {
          try session.inFolder(inMemory: place == .tmpfs) { folder in
            let ticks = try runTimed(
              candidates[index], Setup(directory: folder), place, gap: UInt64(1000 / nanosecondsATick),
              into: &outcomes[index])
            for tick in ticks { histograms[index].record(UInt64(Double(tick) * nanosecondsATick)) }
          }
        }
      }
    }
    for index in candidates.indices where histograms[index].totalCount > 0 {
      outcomes[index].histogram = histograms[index]
      session.add(outcomes[index])
    }
  }
}

/// Half a second of captures; the first tenth does not count.
private func runTimed(
  _ candidate: Candidate, _ setup: Setup, _ place: RingPlace, gap: UInt64, into outcome: inout Outcome
) throws -> ArraySlice<UInt32> {
  let count = 500_000
  let placement = Placement(threads: 1)
  Placement.pin(to: placement.others)
  guard let subject = try candidate.open(setup) as? any TimedSubject else {
    throw Skipped(reason: "single captures of it are not timed")
  }
  let disturbance = Disturbance(place, ring: subject.ring, folder: setup.directory)
  let result = Mutex<(ticks: [UInt32], accepted: Int)>(([], 0))
  Workers.run(on: placement.capturing) { _ in
    var ticks = [UInt32](repeating: 0, count: count)
    let accepted = ticks.withUnsafeMutableBufferPointer {
      subject.timedBurst(thread: 0, first: 0, count: count, gap: gap, into: $0.baseAddress!)
    }
    result.withLock { $0 = (ticks, accepted) }
  }
  disturbance.end()
  let (ticks, accepted) = result.withLock { $0 }
  outcome.settle(told: [accepted], attempted: count, delivery: try subject.finish())
  return ticks[(count / 10)...]
}

/// What else happens to the ring's file system.
private final class Disturbance: Sendable {
  private let stop = StopFlag()
  private let ended = DispatchGroup()

  init(_ place: RingPlace, ring: String, folder: String) {
    switch place {
    case .tmpfs, .disk: break
    case .diskBusy: start { files_disturb(folder + "/other", 200_000_000, self.stop.word) }
    case .diskWriteback:
      start {
        while !self.stop.isRaised {
          _ = files_start_writeback(ring)
          usleep(50_000)
        }
      }
    }
  }

  private func start(_ body: @escaping @Sendable () -> Void) {
    ended.enter()
    Thread.detachNewThread {
      body()
      self.ended.leave()
    }
  }

  func end() {
    stop.raise()
    ended.wait()
  }
}

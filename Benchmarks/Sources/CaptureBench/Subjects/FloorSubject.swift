// FloorSubject.swift: the bare copy into a mapped lane, alone and with another processor's reading.
import CaptureSubjects
import Foundation

/// 64 bytes into a mapped file, the time stamp counter, one release store: what the figures are divided by.
final class FloorSubject: TimedSubject {
  private let lanes: FloorLanes

  init(_ setup: Setup) throws {
    lanes = try FloorLanes(setup)
  }

  var ring: String { lanes.paths[0] }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    lanes.burst(thread: thread, first: first, count: count)
  }

  func timedBurst(thread: Int, first: UInt64, count: Int, gap: UInt64, into ticks: UnsafeMutablePointer<UInt32>) -> Int
  {
    Int(floor_burst_timed(lanes.lanes[thread], first, UInt64(count), lanes.texts[thread], gap, ticks))
  }

  func settle() {}

  func finish() -> Delivery {
    lanes.close()
    return Delivery()
  }
}

/// The same, but another processor reads the lane between bursts, so that the next burst's stores take the cache lines
/// back, as after a drainer. The difference from `floor` is what any design with a consumer pays.
final class DrainedFloorSubject: TimedSubject {
  private let lanes: FloorLanes

  init(_ setup: Setup) throws {
    lanes = try FloorLanes(setup)
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    lanes.burst(thread: thread, first: first, count: count)
  }

  var ring: String { lanes.paths[0] }

  /// Read meanwhile every half millisecond, the shortest nap of Weir's drainer by default.
  func timedBurst(thread: Int, first: UInt64, count: Int, gap: UInt64, into ticks: UnsafeMutablePointer<UInt32>) -> Int
  {
    let stop = StopFlag()
    let others = Placement(threads: 1).others
    let ended = DispatchGroup()
    ended.enter()
    Thread.detachNewThread { [lanes] in
      Placement.pin(to: others)
      while !stop.isRaised {
        usleep(500)
        lanes.drain()
      }
      ended.leave()
    }
    let captured = floor_burst_timed(lanes.lanes[thread], first, UInt64(count), lanes.texts[thread], gap, ticks)
    stop.raise()
    ended.wait()
    return Int(captured)
  }

  func settle() { lanes.drain() }

  func finish() -> Delivery {
    lanes.close()
    return Delivery()
  }
}

/// One lane a thread. Sendable because a lane is only written by its own thread; what `drain` reads of it is never
/// used.
private final class FloorLanes: @unchecked Sendable {
  let lanes: [OpaquePointer]
  let texts: [[CChar]]
  let paths: [String]

  init(_ setup: Setup) throws {
    texts = setup.cTexts
    paths = (0..<setup.threads).map { "\(setup.directory)/floor-\($0)" }
    lanes = try paths.map { path in
      guard let lane = floor_open(path, UInt64(setup.textBytes)) else {
        throw SubjectFailure(description: "could not map a lane at \(path)")
      }
      return lane
    }
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    Int(floor_burst(lanes[thread], first, UInt64(count), texts[thread]))
  }

  func drain() {
    for lane in lanes { floor_drain(lane) }
  }

  func close() {
    for lane in lanes { floor_close(lane) }
  }
}

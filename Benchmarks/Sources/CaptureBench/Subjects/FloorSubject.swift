// FloorSubject.swift: the bare copy into a mapped lane, alone and with a drainer's reading in between.
import CaptureSubjects

/// 64 bytes into a mapped file, the time stamp counter, one release store: what the figures are divided by.
final class FloorSubject: Subject {
  static let name = "floor"
  static let eventBytes = 48

  private let lanes: FloorLanes

  init(directory: String, threads: Int) throws {
    lanes = try FloorLanes(directory: directory, threads: threads)
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    lanes.burst(thread: thread, first: first, count: count)
  }

  func settle() {}

  func finish() -> Delivery {
    lanes.close()
    return Delivery()
  }
}

/// The same, but another thread reads the lane between bursts, so that the next burst's stores take the cache lines back,
/// as after a drainer. The difference from `floor` is what any design with a consumer pays.
final class DrainedFloorSubject: Subject {
  static let name = "floor-drained"
  static let eventBytes = 48

  private let lanes: FloorLanes

  init(directory: String, threads: Int) throws {
    lanes = try FloorLanes(directory: directory, threads: threads)
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    lanes.burst(thread: thread, first: first, count: count)
  }

  func settle() {
    Workers.runElsewhere { self.lanes.drain() }
  }

  func finish() -> Delivery {
    lanes.close()
    return Delivery()
  }
}

/// One lane a thread. Sendable because a lane is only touched by its own thread, or by `drain` while none captures.
private final class FloorLanes: @unchecked Sendable {
  private let lanes: [OpaquePointer]
  private let coupons: [[CChar]]

  init(directory: String, threads: Int) throws {
    coupons = makeCoupons(threads: threads).map { $0.utf8.map { CChar(bitPattern: $0) } }
    lanes = try (0..<threads).map { thread in
      guard let lane = floor_open("\(directory)/floor-\(thread)") else {
        throw SubjectFailure(description: "floor: could not map a lane in \(directory)")
      }
      return lane
    }
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    Int(floor_burst(lanes[thread], first, UInt64(count), coupons[thread]))
  }

  func drain() {
    for lane in lanes { floor_drain(lane) }
  }

  func close() {
    for lane in lanes { floor_close(lane) }
  }
}

// What a worker's reader keeps between two looks at the log.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirDelivery

struct WorkerReaderTests {
  @Test func `a watch is kept until it has rung`() async throws {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForReading.fileDescriptor
    let other = Pipe()
    var reader = WorkerReader("/nowhere")
    let alarm = Alarm()
    let clock = DeliveryClock(ContinuousClock())
    let firstWatch = reader.watch(descriptor, rings: alarm)
    let first = try #require(firstWatch)
    #expect(reader.watch(descriptor, rings: alarm) === first)
    try pipe.fileHandleForWriting.write(contentsOf: Data([1]))
    while !first.hasRung { await alarm.wait(until: nil, clock) }
    // It rings once. What is still to be read rings the next one.
    let secondWatch = reader.watch(descriptor, rings: alarm)
    let second = try #require(secondWatch)
    #expect(second !== first)
    while !second.hasRung { await alarm.wait(until: nil, clock) }
    // A watch on another descriptor is another, and none is kept of a reader that is forgotten.
    let thirdWatch = reader.watch(other.fileHandleForReading.fileDescriptor, rings: alarm)
    let third = try #require(thirdWatch)
    #expect(!third.hasRung)
    reader.forget()
    #expect(reader.watch(other.fileHandleForReading.fileDescriptor, rings: alarm) !== third)
  }
}

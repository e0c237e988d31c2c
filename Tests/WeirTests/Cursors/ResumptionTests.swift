// Where a follower goes on: it may do events again, and never passes over one that it has not done.

import Foundation
import TestSupport
import Testing
import Weir

struct ResumptionTests {
  /// A log of 100 events, closed, and their ids.
  private func withLog(_ body: (String, [EventID]) throws -> Void) throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<100 {
        #expect(tracker.track(Single(number)).isAccepted)
        // Some blocks, so that damage costs only one.
        if number % 10 == 9 { try tracker.drain() }
      }
      let ids = try tracker.events().map(\.id)
      try tracker.close()
      try #require(ids.count == 100)
      try body(directory, ids)
    }
  }

  @Test func `delivery resumes after the last event that was done, if it is there`() throws {
    try withLog { directory, ids in
      func resumed(_ position: CursorPosition, end: Offset = 100) throws -> Resumption {
        try Resumption(.position(position), in: directory, end: end)
      }
      for offset in [1, 2, 50, 99, 100] as [UInt64] {
        let exact = try resumed(CursorPosition(offset: offset, last: ids[Int(offset) - 1], certain: 0))
        #expect(exact.offset == offset)
        #expect(exact.reason == .exact)
        #expect(exact.warning == nil)
        // Another event is there: what was on the disk is certain, and no more.
        let other = CursorPosition(offset: offset, last: ids[Int(offset) % 100], certain: offset / 2)
        let replaced = try resumed(other)
        #expect(replaced.offset == offset / 2)
        #expect(replaced.reason == .replaced)
        #expect(replaced.warning != nil)
        // All was on the disk: nothing can be another one.
        #expect(try resumed(CursorPosition(offset: offset, last: nil, certain: offset)).reason == .exact)
      }
      #expect(try resumed(CursorPosition()).offset == 0)
      // What lies between the last event and the cursor could not be read when it was passed over.
      var far = CursorPosition(offset: 60, last: ids[49], counts: DeliveryCounts(), lastOffset: 49)
      #expect(try resumed(far).reason == .exact)
      far.lastOffset = 48
      #expect(try resumed(far).reason == .replaced)
    }
  }

  @Test func `delivery resumes at what was on the disk if the log ends below the cursor`() throws {
    try withLog { directory, ids in
      let cut = CursorPosition(offset: 150, last: EventID(opening: 1, sequence: 1), certain: 80)
      let resumption = try Resumption(.position(cut), in: directory, end: 100)
      #expect(resumption.offset == 80)
      #expect(resumption.reason == .beyondEnd)
      #expect(resumption.warning != nil)
      // Not even what was on the disk is there: this is another log, of which nothing was done.
      let foreign = CursorPosition(offset: 150, last: EventID(opening: 1, sequence: 1), certain: 120)
      #expect(try Resumption(.position(foreign), in: directory, end: 100).offset == 0)
    }
  }

  @Test func `delivery begins anew without a cursor, and with a damaged one`() throws {
    try withLog { directory, _ in
      let new = try Resumption(.nothing, in: directory, end: 100)
      #expect(new.offset == 0)
      #expect(new.warning == nil)
      let damaged = try Resumption(.damaged, in: directory, end: 100)
      #expect(damaged.offset == 0)
      #expect(damaged.warning != nil)
    }
  }

  @Test func `events that retention removed were not replaced`() throws {
    try withDirectory { directory in
      let configuration = quiet {
        $0.retention = Tracker.Retention(bytes: 1 << 20)
        $0.whenFull = .block
      }
      let tracker = try Tracker(directory: directory, configuration: configuration)
      let text = String(repeating: "x", count: 60_000)
      #expect(tracker.track(Single(text)).isAccepted)
      let first = try #require(try tracker.events().first)
      while try LogDirectory(directory).statistics().firstOffset <= 20 {
        #expect(tracker.track(Single(text)).isAccepted)
        try tracker.sync()
      }
      let position = CursorPosition(offset: first.offset + 1, last: first.id, certain: 0)
      let resumption = try Resumption(.position(position), in: directory, end: tracker.counters.nextOffset)
      #expect(resumption.offset == first.offset + 1)
      #expect(resumption.reason == .exact)
    }
  }

  @Test func `an event that is damaged may have been another one`() throws {
    try withLog { directory, ids in
      let name = try #require(
        try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".weir") })
      let file = try FileHandle(forUpdating: URL(filePath: directory + "/" + name))
      // The records are the latter part of what is not zero.
      let bytes = try #require(try file.readToEnd())
      let end = try #require(bytes.lastIndex { $0 != 0 })
      let place = end * 3 / 4..<end * 3 / 4 + 4
      try file.seek(toOffset: UInt64(place.lowerBound))
      try file.write(contentsOf: bytes[place].map { ~$0 })
      try file.close()
      let reader = try EventReader(directory: directory)
      var found: Set<Offset> = []
      while let event = try reader.next() { found.insert(event.offset) }
      #expect(!found.isEmpty)
      let lost = try #require((4...100 as ClosedRange<UInt64>).first { !found.contains($0 - 1) })
      let position = CursorPosition(offset: lost, last: ids[Int(lost) - 1], certain: 3)
      let resumption = try Resumption(.position(position), in: directory, end: 100)
      #expect(resumption.offset == 3)
      #expect(resumption.reason == .replaced)
    }
  }
}

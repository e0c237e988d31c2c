// The small files beside a cursor, forged with right checksums: each number at its extremes harms nobody.

import Foundation
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct ForgedFilesTests {
  private static let extremes: [UInt64] = [0, 1, 1 << 32, (1 << 63) - 1, .max - 1, .max]

  private func replace(_ place: Int, in bytes: [UInt8], by number: some FixedWidthInteger) -> [UInt8] {
    var bytes = bytes
    withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(place..<place + $0.count, with: $0) }
    return bytes
  }

  private func crc(_ bytes: some Collection<UInt8>) -> UInt32 { Array(bytes).withUnsafeBytes { crc32c($0) } }

  private func write(_ bytes: [UInt8], _ directory: String, _ name: String) throws {
    try Data(bytes).write(to: URL(filePath: "\(directory)/cursors/\(name)"))
  }

  // MARK: The cursor

  @Test func `with a forged cursor everything is delivered`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      for _ in 0..<3 { tracker.track("e") }
      try tracker.drain()
      let ids = try tracker.events().map(\.id)
      try tracker.close()
      var counts = DeliveryCounts()
      (counts.rewinds, counts.rewound) = (1, 2)
      let whole = CursorSlot(
        sequence: 5, position: CursorPosition(offset: 2, last: ids[1], certain: 0, counts: counts)
      ).bytes
      let log = LogDirectory(directory)
      _ = try Cursor("a", of: directory)
      for place in stride(from: 16, to: 176, by: 8) {
        for number in Self.extremes {
          var slot = replace(place, in: whole, by: number)
          slot = replace(12, in: slot, by: crc(slot[..<12] + slot[16...]))
          try write(slot + [UInt8](repeating: 0, count: Cursor.slotStride - slot.count) + slot, directory, "a")
          _ = try log.ledger()
          _ = try log.journey(at: 1)
          var configuration = Dispatcher.Configuration()
          configuration.logger = nil
          let dispatcher = try Dispatcher(directory: directory, configuration: configuration)
          try dispatcher.add(ClosureProvider("a") { events in events.map { _ in .accepted } })
          try dispatcher.start()
          #expect(await dispatcher.shutdown(budget: patience).isComplete, "\(number) at \(place)")
          guard case .position(let position) = try Cursor.read("a", of: directory) else {
            Issue.record("\(number) at \(place)")
            continue
          }
          #expect(position.offset == 3, "\(number) at \(place)")
          _ = try log.ledger()
          _ = try log.rewind("a", to: .beginning)
        }
      }
    }
  }

  // MARK: The wait after failures

  @Test func `a forged wait is no longer than the options allow, and failures after it are counted`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      _ = try Cursor("scripted", of: directory)
      let whole = BackoffFile.bytes(
        of: KeptBackoff(
          failures: 3, breakerFailures: 2, openFor: .seconds(3), written: .now, wait: .seconds(2)))
      var options = DeliveryOptions()
      options.backoff.most = .seconds(10)
      options.backoff.openFor = .seconds(10)
      var count = 0
      for place in stride(from: 16, to: 56, by: 8) {
        for number in Self.extremes {
          let bytes = replace(place, in: whole, by: number)
          try write(replace(12, in: bytes, by: crc(bytes[16...])), directory, "scripted.backoff")
          let stage = try DeliveryStage(on: tracker)
          try stage.capture(1)
          count += 1
          try stage.dispatcher.add(
            ScriptedProvider(answers: [.fail("down"), .fail("down")]), options: options)
          let isDelivered = await stage.run(upTo: .seconds(60)) { stage.entry().offset == Offset(count) }
          #expect(isDelivered, "\(number) at \(place)")
          await stage.kill()
          _ = stage.dispatcher.close()
        }
      }
    }
  }

  // MARK: Users

  @Test func `a forged memory of users costs repetitions at most`() throws {
    try withDirectory { directory in
      _ = try Cursor("p", of: directory)
      let calls = SystemCalls()
      var told = try ToldUsers("p", of: directory, limit: 2, end: 9, calls: calls)
      told.add(EventUser(id: "ann"), at: 3)
      try told.write()
      let path = URL(filePath: directory + "/cursors/p.users")
      let whole = Array(try Data(contentsOf: path))
      for place in stride(from: 32, to: 56, by: 8) {
        for number in Self.extremes {
          let bytes = replace(place, in: whole, by: number)
          for end in Self.extremes {
            try write(replace(60, in: bytes, by: crc(bytes[32..<60])), directory, "p.users")
            var told = try ToldUsers("p", of: directory, limit: 2, end: end, calls: calls)
            _ = told.isNews(EventUser(id: "ann"), at: .max)
            for user in 0..<4 { told.add(EventUser(id: "\(user)"), at: end) }
            told.forget(from: number)
            try told.write()
          }
        }
      }
    }
  }

  @Test func `a forged file of associations names a user or none`() throws {
    try withDirectory { directory in
      _ = try Tracker(directory: directory, configuration: quiet())
      _ = try Cursor("p", of: directory)
      var file = try AssociationFile("p", of: directory, calls: SystemCalls())
      file.add(HeldAssociation(offset: 3, bytes: 0, user: EventUser(id: "ann")))
      try file.write(upTo: 3, named: nil)
      let whole = Array(try Data(contentsOf: URL(filePath: directory + "/cursors/p.user")))
      func check(_ bytes: [UInt8]) throws {
        try write(replace(12, in: bytes, by: crc(bytes[16...])), directory, "p.user")
        var file = try AssociationFile("p", of: directory, calls: SystemCalls())
        for offset in Self.extremes {
          _ = file.find(offset)
          _ = try file.back(from: offset, before: min(offset, 9), first: min(offset, 5))
        }
      }
      for number in Self.extremes {
        try check(replace(20, in: whole, by: number))
        for place in [16, 28] { try check(replace(place, in: whole, by: UInt32(truncatingIfNeeded: number))) }
      }
    }
  }

  // MARK: The plan

  @Test(arguments: [
    #"{"a":18446744073709551616}"#, #"{"pseudonym":-1e999}"#, #"{"mapper":[{}]}"#, #"{"mapper":[1]}"#,
    #"{"mapper":[{"only":{}}]}"#, #"{"by":9223372036854775808}"#, String(repeating: "[", count: 100_000),
    String(repeating: #"{"a":"#, count: 100_000),
  ])
  func `a forged plan is refused or compared`(_ text: String) throws {
    try withDirectory { directory in
      _ = try Cursor("p", of: directory)
      try write(Array(text.utf8), directory, "p.plan")
      do throws(WeirError) {
        try DeliveryPlan.Entry("p").checkRecorded(in: directory)
      } catch {
        #expect(error.code == .invalid)
      }
    }
  }
}

// Redriven dead letters: large ones, ones that were not finished, ones with fields that must not leave the process.

import Foundation
import Testing
import WeirTesting

@testable import Weir

struct RedriveTests {
  private func redrive(
    _ stage: DeliveryStage, to provider: ScriptedProvider, options: DeliveryOptions = DeliveryOptions(),
    timeout: Duration = .seconds(5)
  ) async throws -> DeliveryReport.Entry {
    let log = LogDirectory(stage.directory)
    let configuration = stage.redriveConfiguration()
    let result = try await stage.running([provider]) { () async -> Result<DeliveryReport.Entry, WeirError> in
      do throws(WeirError) {
        return .success(
          try await log.redrive(to: provider, options: options, configuration: configuration, timeout: timeout))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// A stage whose provider rejected small events, numbered, and a large one between.
  private func withLetters(_ directory: String) async throws -> (stage: DeliveryStage, ids: [EventID]) {
    let stage = try DeliveryStage(
      directory,
      tracker: {
        $0.maximumEventBytes = 1 << 20
        $0.laneBytes = 4 << 20
        $0.segmentBytes = 8 << 20
      })
    var ids = try stage.capture(2)
    let text = FieldValue.string(String(repeating: "y", count: (1 << 20) - 150))
    ids.append(try #require(stage.tracker.track("l", fields: ["n": 2, "t": text]).id))
    ids += try stage.capture(2, from: 3)
    try stage.dispatcher.add(ScriptedProvider(finally: .reject("no")))
    #expect(await stage.run { stage.entry().rejected == 5 })
    #expect(try LogDirectory(directory).deadLetters(of: "scripted").map(\.event.id) == ids)
    let letters = try EventReader(directory: DeadLetter.path(of: "scripted", in: directory))
    var events = 0
    while try letters.next() != nil { events += 1 }
    try #require(events > 6, "no letter of several parts")
    return (stage, ids)
  }

  @Test func `a large letter waits whole for a redrive that succeeds`() async throws {
    try await withDirectoryAsync { directory in
      let (stage, ids) = try await withLetters(directory)
      let failed = try await redrive(stage, to: ScriptedProvider(finally: .fail("down")))
      #expect(failed.acknowledged == 0 && failed.rejected == 0 && failed.pending == 5, "\(failed)")
      // The small ones before it are taken, and it is not: a call by itself, for its size, which counts as failed.
      let half = ScriptedProvider(
        finally: .each { $0.fields["n"] == .int(2) ? .retry(after: .seconds(60)) : .accepted })
      let second = try await redrive(stage, to: half)
      #expect(second.acknowledged == 2 && second.pending == 3, "\(second)")
      let works = ScriptedProvider()
      let third = try await redrive(stage, to: works)
      #expect(third.pending == 0 && third.rejected == 0, "\(third)")
      #expect(works.delivered.map(\.stored.id).contains(ids[2]))
      #expect(Set((half.delivered + works.delivered).map(\.stored.id)) == Set(ids))
      // Now all are settled.
      #expect(try await redrive(stage, to: works).acknowledged == 0)
      await stage.kill()
    }
  }

  @Test func `all letters go at once, whatever the options say of the beginning and of waiting`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.dispatcher.add(ScriptedProvider(finally: .reject("no")))
      try stage.capture(3)
      #expect(await stage.run { stage.entry().rejected == 3 })
      var options = DeliveryOptions()
      options.start = .end
      options.flush = FlushPolicy(.count)
      let provider = ScriptedProvider()
      let report = try await redrive(stage, to: provider, options: options)
      #expect(report.acknowledged == 3 && report.pending == 0 && provider.numbers == [0, 1, 2], "\(report)")
    }
  }

  @Test func `a letter of which only some parts are there holds nothing up, and comes when it is whole`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      func letter(_ number: Int, bytes: Int) -> DeadLetter {
        DeadLetter(
          provider: "scripted",
          event: StoredEvent(
            offset: Offset(number), id: EventID(opening: 9, sequence: UInt64(number)),
            time: Timestamp(nanosecondsSince1970: 5), name: "e",
            fields: ["n": .int(Int64(number)), "text": .string(String(repeating: "x", count: bytes))]),
          reason: "no", attempts: 1)
      }
      let large = letter(2, bytes: 1_500_000)
      try #require(large.parts.count == 3)
      var log = DeadLetterLog("scripted", of: directory, calls: SystemCalls())
      try log.write([letter(1, bytes: 10)])
      try log.close()
      // The process died while it wrote the large one.
      let path = DeadLetter.path(of: "scripted", in: directory)
      let writer = try Tracker(
        directory: path,
        configuration: quiet {
          $0.laneBytes = 2 << 20
          $0.maximumEventBytes = 1 << 20
          $0.segmentBytes = 4 << 20
        })
      for part in large.parts[..<2] {
        #expect(writer.capture(DeadLetter.eventName, part, isValid: true).isAccepted)
      }
      try writer.close()
      let provider = ScriptedProvider()
      let begin = stage.clock.now
      let first = try await redrive(stage, to: provider, timeout: .seconds(1000))
      #expect(first.acknowledged == 1 && first.pending == 0 && provider.numbers == [1], "\(first)")
      #expect(begin.duration(to: stage.clock.now) < .seconds(1000))
      // It was rejected again, and so written again.
      try log.write([large, letter(3, bytes: 10)])
      try log.close()
      let second = try await redrive(stage, to: provider)
      #expect(second.acknowledged == 2 && second.pending == 0 && provider.numbers == [1, 2, 3], "\(second)")
      await stage.kill()
    }
  }

  private struct Login: Event {
    static let eventTypes = [
      EventType("login", [Field("who", .string), Field("password", .string, sensitive: true)])
    ]

    func encode(into encoder: inout EventEncoder) {
      encoder.begin(0)
      encoder.put("bob")
      encoder.put("hunter2")
    }

    init() {}
    init?(_ stored: StoredEvent) throws { return nil }
  }

  @Test func `a redrive that redacts hides what the event's type says is sensitive`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      var options = DeliveryOptions()
      options.preparation = Preparation(redactsSensitive: false)
      try stage.dispatcher.add(ScriptedProvider(finally: .reject("no")), options: options)
      #expect(stage.tracker.track(Login()).isAccepted)
      #expect(await stage.run { stage.entry().rejected == 1 })
      let letter = try #require(try LogDirectory(directory).deadLetters(of: "scripted").first)
      #expect(letter.event.fields["password"] == "hunter2")
      #expect(letter.event.redacted().fields["password"] == .redacted)
      #expect(letter.event.declaration == Login.eventTypes[0])
      let provider = ScriptedProvider()
      #expect(try await redrive(stage, to: provider).acknowledged == 1)
      let event = try #require(provider.delivered.first)
      #expect(event.fields["password"] == .redacted && event.fields["who"] == "bob")
      #expect(event.stored.fields["password"] == .redacted)
      await stage.kill()
    }
  }
}

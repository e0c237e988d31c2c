// Dead letters: what a provider will never take is kept with the verdict, whatever it is, and can be sent again.

import Foundation
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct DeadLetterTests {
  private func stored(
    _ fields: FieldObject, declaration: EventType? = nil, context: EventContext = EventContext()
  ) -> StoredEvent {
    StoredEvent(
      offset: 77, id: EventID(opening: 1 << 60, sequence: 5), time: Timestamp(nanosecondsSince1970: -3), name: "e",
      fields: fields, declaration: declaration, context: context)
  }

  @Test func `any event comes back as it was`() throws {
    var deep: FieldValue = .array([1, 2])
    for _ in 0..<13 { deep = .object(["in": deep]) }
    let context = EventContext(
      globals: ["g": 1], user: EventUser(id: "u", traits: ["t": .redacted]),
      view: EventView(id: "v", name: "view", parent: "p"), fields: ["f": true], sensitive: ["g", "t"])
    let declared = EventType(
      "e",
      [
        Field("a", .optional(.int64), sensitive: true, formerNames: ["b", "c"]),
        Field("nested", .array(.object([Field("x", .string, sensitive: true), Field("y", .any)]))),
      ], wireID: 3, kind: .pageAction, formerNames: ["f"])
    let events = [
      stored([:]), stored(["a": .bytes([0, 255]), "b": .double(.infinity), "c": .null], context: context),
      stored(["deep": deep], context: context),
      stored(["text": .string(String(repeating: "é", count: 700_000))], context: context),
      stored(["many": .array((0..<90_000).map { .object(["k": .uint(UInt64($0))]) })]),
      stored(["a": 1, "payload": .bytes([1])], declaration: declared),
      stored(["text": .string(String(repeating: "x", count: 1_500_000))], declaration: declared),
      stored(["b": 2], declaration: EventType(tagged: "e").with(["id": .uint(7), "formerly": .array(["was"])])),
    ]
    try withDirectory { directory in
      let letters = events.map { DeadLetter(provider: "p", event: $0, reason: "no\u{0}pe", attempts: 3) }
      for _ in 0..<2 {
        var log = DeadLetterLog("p", of: directory, calls: SystemCalls())
        try log.write(letters)
        try log.close()
      }
      #expect(try LogDirectory(directory).deadLetters(of: "p") == letters + letters)
      #expect(try LogDirectory(directory).deadLetters(of: "q") == [])
    }
  }

  @Test func `a large letter that was not finished is passed over`() throws {
    let letter = DeadLetter(
      provider: "p", event: stored(["text": .string(String(repeating: "x", count: 1_500_000))]), reason: "r",
      attempts: 1)
    let parts = letter.parts.enumerated().map { index, fields in
      StoredEvent(
        offset: Offset(index), id: EventID(opening: 2, sequence: UInt64(index)),
        time: Timestamp(nanosecondsSince1970: 0), name: DeadLetter.eventName, fields: fields)
    }
    try #require(parts.count >= 3)
    var joiner = DeadLetterJoiner()
    let interrupted = Array(parts[..<2]) + parts + [parts[0]] + Array(parts[2...]) + [parts[0], parts[1], parts[1]]
    #expect(interrupted.compactMap { joiner.take($0) } == [letter])
  }

  @Test func `sensitive values are not in the letters`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(finally: .reject("no"))
      try stage.dispatcher.add(provider)
      try Bindings.with(user: "u", traits: ["email": "a@example.com"], sensitive: ["email"]) {
        _ = try stage.capture(1)
      }
      #expect(await stage.run { stage.entry().rejected == 1 })
      let letter = try #require(try LogDirectory(directory).deadLetters(of: "scripted").first)
      #expect(letter.event.context.user?.traits["email"] == .redacted)
      #expect(letter.event.context.user?.id == "u")
      #expect(letter.event.fields["n"] == .int(0))
    }
  }

  @Test func `redriven letters have the original ids, and are given once`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(finally: .each { $0.fields["n"] == .int(4) ? .accepted : .rejected("name") })
      try stage.dispatcher.add(provider)
      let ids = try stage.capture(10)
      #expect(await stage.run { stage.entry().rejected == 9 })
      let configuration = stage.redriveConfiguration()
      let log = LogDirectory(directory)
      func redrive(to provider: ScriptedProvider) async throws -> DeliveryReport.Entry {
        let result = try await stage.running([provider]) {
          await Result { () async throws(WeirError) in
            let mended = EventMapper.renaming(events: ["e": "mended"])
            return try await log.redrive(
              to: provider.mapped(by: mended), configuration: configuration, timeout: .seconds(100))
          }
        }
        return try result.get()
      }
      let second = ScriptedProvider(
        answers: [.fail("once")], finally: .each { $0.fields["n"] == .int(7) ? .rejected("still") : .accepted })
      let report = try await redrive(to: second)
      #expect(report.acknowledged == 8)
      #expect(report.rejected == 1)
      #expect(report.pending == 0)
      #expect(second.delivered.map(\.stored.id) == ids.enumerated().filter { ![4, 7].contains($0.0) }.map(\.1))
      #expect(second.delivered.allSatisfy { $0.name == "mended" })
      #expect(second.calls.last == .shutdown)
      // Nothing was removed, and nothing is given a second time; what was rejected again has no letter more.
      #expect(try log.deadLetters(of: "scripted").count == 9)
      let letters = DeadLetter.path(of: "scripted", in: directory)
      #expect(!FileManager.default.fileExists(atPath: letters + "/" + DeadLetter.directoryName))
      let third = ScriptedProvider()
      #expect(try await redrive(to: third).acknowledged == 0)
      #expect(third.delivered.isEmpty)
      // What is rejected after that is.
      try stage.capture(1, from: 20)
      // Eight of nine were accepted meanwhile.
      #expect(await stage.run { stage.entry().rejected == 2 })
      #expect(try await redrive(to: third).acknowledged == 1)
      #expect(third.numbers == [20])
      await #expect(throws: WeirError.self) {
        try await log.redrive(to: ScriptedProvider(name: "nobody"), configuration: configuration, timeout: .zero)
      }
    }
  }
}

extension Result {
  fileprivate init(_ body: () async throws(Failure) -> Success) async {
    do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
  }
}

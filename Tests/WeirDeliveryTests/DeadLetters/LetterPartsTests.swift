// Which events of a dead-letter log are parts of one letter, and what that letter takes.

import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct LetterPartsTests {
  private static func letter(_ number: Int, bytes: Int) -> DeadLetter {
    let event = StoredEvent(
      offset: Offset(number), id: EventID(opening: 9, sequence: UInt64(number)),
      time: Timestamp(nanosecondsSince1970: 5), name: "e",
      fields: ["n": .int(Int64(number)), "text": .string(String(repeating: "x", count: bytes))])
    return DeadLetter(provider: "scripted", event: event, reason: "no", attempts: 1)
  }

  private static func stored(_ offset: Offset, _ fields: FieldObject) -> StoredEvent {
    StoredEvent(
      offset: offset, id: EventID(opening: 7, sequence: offset), time: Timestamp(nanosecondsSince1970: 6),
      name: DeadLetter.eventName, fields: fields)
  }

  @Test func `a letter takes what all its parts take`() throws {
    let large = Self.letter(1, bytes: 1_500_000).parts
    try #require(large.count == 3)
    var letters = LetterParts()
    var found = letters.take(Self.stored(0, large[0]), bytes: 524)
    #expect(found.letter == nil)
    #expect(found.isPart)
    // The process died here, and the letter was written again.
    found = letters.take(Self.stored(1, large[0]), bytes: 524)
    #expect(found.letter == nil)
    #expect(found.isPart)
    #expect(found.abandoned == [0])
    found = letters.take(Self.stored(2, large[1]), bytes: 525)
    #expect(found.letter == nil)
    #expect(found.isPart)
    found = letters.take(Self.stored(3, large[2]), bytes: 400)
    #expect(found.letter?.event.offset == 1)
    #expect(found.bytes == 524 + 525 + 400)
    found = letters.take(Self.stored(4, Self.letter(2, bytes: 10).fields), bytes: 90)
    #expect(found.letter?.event.offset == 2)
    #expect(found.bytes == 90)
    #expect(letters.settled(3) == [1, 2])
    #expect(letters.settled(4).isEmpty)
  }
}

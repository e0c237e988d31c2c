// The log of attempts: what is noted is read back, bounded, without ever being in the way.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct OffsetRangesTests {
  @Test func `offsets in a row are one range`() {
    #expect(OffsetRanges([]).numbers == [])
    #expect(OffsetRanges([5, 6, 7, 9, 12, 13]).numbers == [5, 7, 9, 9, 12, 13])
    #expect(OffsetRanges([3, 3, 4]).numbers == [3, 4])
    #expect(OffsetRanges([.max - 1, .max, .max]).numbers == [.max - 1, .max])
  }

  @Test func `ranges contain their offsets, and no others`() {
    let ranges = OffsetRanges([5, 6, 7, 9])
    #expect(ranges.contains(4) == false)
    #expect(ranges.contains(8) == false)
    #expect(ranges.contains(10) == false)
    #expect(ranges.contains(5) == true)
    #expect(ranges.contains(7) == true)
    #expect(ranges.contains(9) == true)
    #expect(OffsetRanges([]).contains(0) == false)
  }

  @Test func `ranges that find no room make the rest unknown`() {
    let room = OffsetRanges.maximumRanges
    let full = OffsetRanges((0..<room).map { UInt64($0 * 2) })
    #expect(full.isComplete)
    #expect(full.ranges.count == room)
    #expect(full.contains(.max) == false)
    let over = OffsetRanges((0...room).map { UInt64($0 * 2) })
    #expect(!over.isComplete)
    #expect(over.ranges.count == room)
    #expect(over.contains(0) == true)
    #expect(over.contains(1) == false)
    #expect(over.contains(UInt64(room * 2)) == nil)
    #expect(OffsetRanges(numbers: over.numbers) == over)
    #expect(OffsetRanges(numbers: full.numbers) == full)
  }

  @Test func `numbers that can't be ranges are refused`() {
    #expect(OffsetRanges(numbers: [5, 4]) == nil)
    #expect(OffsetRanges(numbers: Array(repeating: 1, count: OffsetRanges.maximumRanges * 2 + 2)) == nil)
    #expect(OffsetRanges(numbers: [1, 2, 0])?.isComplete == false)
    #expect(OffsetRanges(numbers: [0])?.contains(1) == nil)
  }
}

struct AttemptLogTests {
  private func attempt(_ number: Int, _ offsets: [Offset], _ answer: String = "200 OK") -> Attempt {
    Attempt(
      number: number, offsets: offsets, bytes: 10 * offsets.count, began: Timestamp(nanosecondsSince1970: 1_000),
      took: .milliseconds(5), outcome: .verdicts, answer: answer)
  }

  private func notes(_ directory: String, _ provider: String = "shop") throws -> [LoggedAttempt] {
    let reader = try EventReader(directory: AttemptLog.path(in: directory, provider: provider))
    var notes: [LoggedAttempt] = []
    while let stored = try reader.next() {
      if let note = try LoggedAttempt(stored) { notes.append(note) }
    }
    return notes
  }

  @Test func `notes are read back`() throws {
    try withDirectory { directory in
      var attempt = attempt(2, [7, 8, 10])
      attempt.rejected = [8]
      attempt.retried = [10]
      let log = AttemptLog(in: directory, provider: "shop")
      #expect(!FileManager.default.fileExists(atPath: directory + "/attempts"))
      log.write(attempt)
      log.writeWithheld(9)
      log.writeSettled(below: 10)
      log.close()
      log.write(attempt)
      #expect(log.unwritten == 1)
      let found = try notes(directory)
      #expect(found == [LoggedAttempt(attempt), .withheld(9), .settled(below: 10)])
      guard case .attempt(let call) = found[0] else { return #expect(Bool(false), "no attempt") }
      #expect(call.number == 2)
      #expect(call.first == 7)
      #expect(call.last == 10)
      #expect(call.events == 3)
      #expect(call.bytes == 30)
      #expect(call.nanoseconds == 5_000_000)
      #expect(call.outcome == "verdicts")
      #expect(call.answer == "200 OK")
      #expect(call.given.ranges == [7...8, 10...10])
      #expect(call.rejected.ranges == [8...8])
    }
  }

  @Test func `an answer is one line, and short`() throws {
    let text = "a\nb\u{7}\u{2028}c\u{202e}" + String(repeating: "é", count: 4000)
    guard case .attempt(let call) = LoggedAttempt(attempt(1, [1], text)) else { return }
    #expect(call.answer.hasPrefix("a b  c é"))
    #expect(call.answer.utf8.count <= LoggedAttempt.answerBytes)
    #expect(call.answer.utf8.count > 1000)
    #expect(call.answer.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    #expect("".inOneLine(of: 10) == "")
    #expect("ab\tcd".inOneLine(of: 3) == "ab ")
    // Cut within a character, whose place nothing takes that is longer than it.
    #expect("éééé".inOneLine(of: 5) == "éé")
  }

  @Test func `the largest note fits, and a log goes on after another`() throws {
    try withDirectory { directory in
      let scattered = (0..<UInt64(5000)).map { $0 * 3 + UInt64(1) << 60 }
      var large = attempt(.max, scattered, String(repeating: "x", count: 5000))
      large.rejected = scattered
      large.retried = scattered
      for _ in 0..<2 {
        let log = AttemptLog(in: directory, provider: "shop")
        log.write(large)
        #expect(log.error == nil)
        log.close()
      }
      let found = try notes(directory)
      #expect(found == [LoggedAttempt(large), LoggedAttempt(large)])
    }
  }

  @Test func `the oldest notes make room`() async throws {
    try await withDirectoryAsync { directory in
      let log = AttemptLog(in: directory, provider: "shop", byteLimit: AttemptLog.leastBytes)
      let text = String(repeating: "x", count: 1000)
      var written = 0
      while written < 10_000 {
        let before = log.unwritten
        log.write(attempt(written, [UInt64(written)], text))
        // No faster than the log's own thread, whatever the machine.
        if log.unwritten == before { written += 1 } else { try await Task.sleep(for: .milliseconds(1)) }
      }
      log.close()
      let found = try notes(directory)
      #expect(found.count < 9_000)
      #expect(found.count > 1_000)
      guard case .attempt(let last)? = found.last else { return #expect(Bool(false), "no attempt") }
      #expect(last.number == 9_999)
      #expect(try LogDirectory(directory + "/attempts/shop").statistics().totalBytes <= UInt64(AttemptLog.leastBytes))
    }
  }

  @Test func `an attempt log that can't be written does not hold delivery up`() throws {
    try withDirectory { directory in
      // Something else is in the place of the directory.
      try Data().write(to: URL(filePath: directory + "/attempts"))
      let log = AttemptLog(in: directory, provider: "shop")
      for number in 1...1000 { log.write(attempt(number, [1])) }
      #expect(log.unwritten == 1000)
      #expect(log.error != nil)
      log.close()
      let gone = AttemptLog(in: directory + "/nowhere", provider: "shop")
      gone.write(attempt(1, [1]))
      #expect(gone.unwritten == 1)
      #expect(gone.error?.code == .missing)
    }
  }

  @Test func `a log of a dead process is read up to its last note`() async throws {
    try await withDirectoryAsync { directory in
      let log = AttemptLog(in: directory, provider: "shop")
      for number in 1...100 { log.write(attempt(number, [UInt64(number)])) }
      // Read while it is written, as another process does.
      #expect(await eventually { (try? notes(directory).count) == 100 })
      log.close()
    }
  }
}

struct FlagNoteTests {
  private func held(_ offset: Offset, _ flags: Set<PreparedEvent.Flag>, attempts: Int = 1) -> HeldEvent {
    var event = PreparedEvent(stored("e", ["n": .uint(offset)]))
    event.flags = flags
    return HeldEvent(prepared: event, offset: offset, bytes: 10, attempts: attempts)
  }

  @Test func `events with one text are one note`() {
    let tax = PreparedEvent.Flag.defaulted(field: "tax")
    let notes = FlagNote.notes(of: [
      held(1, [tax]), held(2, [tax]), held(3, []), held(4, [tax, .defaulted(field: "x")]), held(5, [tax], attempts: 2),
    ])
    #expect(
      notes == [
        FlagNote(flag: "defaulted", text: "tax", at: OffsetRanges([1, 2, 4])),
        FlagNote(flag: "defaulted", text: "x", at: OffsetRanges([4])),
      ])
  }

  @Test func `of further texts only the offsets are noted`() {
    let most = UInt64(FlagNote.maximumNotes)
    for count in [most - 1, most, most + 1, most + 40] {
      let notes = FlagNote.notes(
        of: (0..<count).map { held($0, [.duplicate(of: EventID(opening: 1, sequence: $0))]) })
      #expect(notes.count == Int(min(count, most + 1)))
      guard count > most else { continue }
      #expect(notes.last == FlagNote(flag: "duplicate_of", text: "", at: OffsetRanges(most..<count)))
    }
  }

  @Test func `a note is read back`() throws {
    let note = FlagNote(flag: "violations", text: "n: mandatory", at: OffsetRanges([1, 2, 9]))
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { _ in })
      #expect(tracker.track(LoggedAttempt.flagged(note)).isAccepted)
      let read = try tracker.events().map { try LoggedAttempt($0) }
      #expect(read == [.flagged(note)])
      try tracker.close()
    }
  }
}

// Numbers that are none, and text with a NUL: kept as they are, wherever they are not refused.

import Foundation
import TestSupport
import Testing
import Weir

struct ExtremeValueTests {
  @Test func `dates and tagged numbers keep their bits`() throws {
    let patterns: [UInt64] = [0x7ff8_dead_beef_0001, 0x7ff0_0000_0000_0001, 0xfff0_0000_0000_0000, 1 << 63, 1]
    for bits in patterns {
      let date = Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits))
      #expect(try roundTrip(Single(date)).event.value.timeIntervalSinceReferenceDate.bitPattern == bits)
      let value = try roundTrip(Single(FieldValue.double(Double(bitPattern: bits)))).event.value
      guard case .double(let number) = value else { return #expect(Bool(false), "\(value)") }
      #expect(number.bitPattern == bits)
    }
  }

  @Test func `NUL is a character`() throws {
    let text = "\0a\0\0b\0"
    #expect(try roundTrip(Single(text)).event.value == text)
    #expect(try roundTrip(Login(user: text, attempts: 1)).event.user == text)
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.globals.app = text })
      #expect(tracker.track("name\0", fields: [text: .string(text), "": 1]).isAccepted)
      let event = try #require(tracker.events().first)
      #expect(event.name == "name\0")
      #expect(event.fields == [text: .string(text), "": 1])
      #expect(event.context.globals == ["app": .string(text)])
    }
  }
}

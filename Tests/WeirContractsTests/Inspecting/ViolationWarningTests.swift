// Warnings of violations in the program's log: without an observer there are some, at a bounded rate, and none is
// forgotten.

import Logging
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts

struct ViolationWarningTests {
  private func inspected(
    _ directory: String, _ lines: LoggedLines, onViolation: (@Sendable (StoredEvent, Violation) -> Void)? = nil
  ) throws -> InspectedTracker {
    var configuration = InspectedConfiguration()
    configuration.inspection.logger = lines.logger
    configuration.onViolation = onViolation
    return try InspectedTracker(directory: directory, configuration: configuration)
  }

  @Test func `a violation without an observer is a warning with event, field, rule and place, and without the value`()
    throws
  {
    try withDirectory { directory in
      let lines = LoggedLines()
      let tracker = try inspected(directory, lines)
      tracker.track("order", fields: ["number": 1, "currency": "EUR"])
      let receipt = Bindings.with(user: "ada", view: "/cart") {
        tracker.track("order", fields: ["number": -4711, "currency": "EUR"])
      }
      let id = try #require(receipt.id)
      try tracker.inspector.inspect()
      #expect(lines.levels == [.warning])
      #expect(
        lines.last == """
          the event "order" violates the contract shop 1.2: the field "number": range 0..<1000000 (id \(id), offset 1 \
          of \(directory), in the view "/cart")
          """)
      // A name that the program makes up can't begin a line of its own.
      tracker.track("oder\nerror: gone")
      try tracker.close()
      let start = #"the event "oder\nerror: gone" violates the contract shop 1.2: unknown event (id "#
      #expect(lines.last.hasPrefix(start), "\(lines.last)")
      #expect(lines.levels == [.warning, .warning])
    }
  }

  @Test func `every violation is logged or counted in a warning`() throws {
    try withDirectory { directory in
      let lines = LoggedLines()
      let tracker = try inspected(directory, lines)
      for number in 0..<25 { tracker.track("order", fields: ["number": .int(Int64(-1 - number)), "currency": "EUR"]) }
      // 101 of these violations are not listed.
      tracker.track("order", fields: FieldObject((0..<200).map { ("f\($0)", FieldValue.int($0)) }))
      #expect(try tracker.inspector.inspect().violations == 226)
      try tracker.close()
      let texts = lines.lines.withLock { $0.map(\.text) }
      let logged = texts.count { $0.contains("violates the contract") }
      let counted = texts.compactMap { text in
        text.firstMatch(of: #/(\d+) further violations? (?:was|were) not logged/#).flatMap { Int($0.1) }
      }
      #expect(logged >= ViolationWarnings.most)
      #expect(logged + counted.reduce(0, +) == 226)
    }
  }

  @Test func `an observer is told instead of the logger`() throws {
    try withDirectory { directory in
      let (lines, observed) = (LoggedLines(), Observed())
      let tracker = try inspected(directory, lines, onViolation: observed.observer)
      tracker.track("oder")
      try tracker.close()
      #expect(observed.violations.count == 1)
      #expect(lines.levels.isEmpty)
    }
  }

  @Test func `at most ten warnings come within any minute`() {
    var warnings = ViolationWarnings()
    let second: UInt64 = 1_000_000_000
    func admit(at seconds: UInt64) -> UInt64? { warnings.admit(at: MonotonicTime(nanoseconds: seconds * second)) }
    for time in 0..<UInt64(10) { #expect(admit(at: 100 + time) == 0) }
    #expect(admit(at: 110) == nil)
    #expect(admit(at: 159) == nil)
    warnings.hold(5)
    #expect(warnings.heldBack == 7)
    #expect(admit(at: 160) == 7, "a minute after the first, with the number of those held back")
    #expect(admit(at: 160) == nil, "the second was at 101")
    #expect(admit(at: 161) == 1)
    #expect(warnings.heldBack == 0)
    #expect(admit(at: 1_000) == 0)
  }
}

// Encoders that disagree with their declaration: refused, counted and reported, never written.

import Testing

@testable import Weir

struct MisuseTests {
  private func refused(_ message: String, _ encoding: @escaping @Sendable (inout EventEncoder) -> Void) throws {
    let (receipt, error, stored) = try capture(Loose(encoding))
    #expect(receipt == .dropped(.invalid))
    #expect(error?.code == .invalid)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "nothing noted")")
    #expect(stored.allSatisfy { $0.isNotice })
  }

  private func accepted(_ encoding: @escaping @Sendable (inout EventEncoder) -> Void) throws {
    let (receipt, error, stored) = try capture(Loose(encoding))
    #expect(receipt.isAccepted, "\(error?.message ?? "")")
    #expect(stored.count == 1)
  }

  @Test func agreeingEncodersPass() throws {
    try accepted { $0.begin(0); $0.put(Int32(1)); $0.put("x") }
    try accepted { $0.begin(1); $0.put([Int8?]()); $0.beginObject(); $0.put(true) }
    try accepted { $0.begin(1); $0.put([nil, 1] as [Int8?]); $0.beginObject(); $0.put(false) }
    try accepted { $0.begin(2) }
  }

  @Test func beginIsNeeded() throws {
    try refused("did not call begin") { _ in }
    try refused("did not call begin") { $0.put(Int32(1)); $0.put("x") }
  }

  @Test func beginIsCalledOnce() throws {
    try refused("begin twice") { $0.begin(2); $0.begin(2) }
    try refused("begin twice") { $0.begin(0); $0.put(Int32(1)); $0.put("x"); $0.begin(0) }
  }

  @Test func theIndexIsInRange() throws {
    try refused("declares 3 events") { $0.begin(3) }
    try refused("declares 3 events") { $0.begin(1 << 20) }
    try refused("loose.two") { $0.begin(-1) }
  }

  @Test func extremeIndexIsRefused() throws {
    for index in [Int.max, Int(UInt32.max) - 2, Int(UInt32.max) - 1, Int(UInt32.max) - 3] {
      let (receipt, _, stored) = try capture(Loose { $0.begin(index) })
      #expect(receipt == .dropped(.invalid), "\(index)")
      #expect(stored.allSatisfy { $0.isNotice })
    }
  }

  @Test func kindsMustAgree() throws {
    let message = "other kinds of fields than eventTypes declares for loose.two"
    try refused(message) { $0.begin(0) }
    try refused(message) { $0.begin(0); $0.put(Int32(1)) }
    try refused(message) { $0.begin(0); $0.put("x"); $0.put(Int32(1)) }
    try refused(message) { $0.begin(0); $0.put(UInt32(1)); $0.put("x") }
    try refused(message) { $0.begin(0); $0.put(Int64(1)); $0.put("x") }
    try refused(message) { $0.begin(0); $0.put(Int32(1)); $0.put(String?("x")) }
    try refused(message) { $0.begin(0); $0.put(Int32(1)); $0.put("x"); $0.put(true) }
    try refused("loose.nested") { $0.begin(1); $0.put([Int8]()); $0.beginObject(); $0.put(true) }
    try refused("loose.nested") { $0.begin(1); $0.put([Int8?]()); $0.put(true) }
  }

  /// A value that encodes something else than its kind says.
  private struct Liar: EventValue {
    static let fieldKind = FieldKind.int8
    init() {}
    func encode(into encoder: inout EventEncoder) { encoder.put(Int16(1)) }
    init(fieldValue: FieldValue) throws {}
  }

  @Test func valuesMustKeepToTheirKind() throws {
    for receipt in [
      try capture(Single(Liar())).receipt, try capture(Single([Liar(), Liar()])).receipt,
      try capture(Single(Liar?(Liar()))).receipt,
    ] {
      #expect(receipt == .dropped(.invalid))
    }
    // No value, no lie.
    #expect(try capture(Single([Liar]())).receipt.isAccepted)
  }

  @Test func refusalsAreCountedAndReportedOnce() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for _ in 0..<100 { tracker.track(Loose { _ in }) }
      #expect(tracker.counters.dropped == [.invalid: 100])
      #expect(tracker.counters.accepted == 0)
      #expect(tracker.track(Checkout.started(cart: 1)).isAccepted)
      try tracker.close()
      let gaps = try EventReader(directory: directory).all().filter { $0.name == "weir.gap" }
      let sum = try gaps.reduce(0 as UInt64) { try $0 + $1["dropped"] }
      #expect(sum == 100)
      #expect(gaps.allSatisfy { $0.fields["reason"] == "invalid" })
    }
  }

  private struct Undefinable<Name: NameSource>: Event {
    static var eventTypes: [EventType] { Name.types }
    init() {}
    func encode(into encoder: inout EventEncoder) { encoder.begin(0) }
    init?(_ stored: StoredEvent) throws { return nil }
  }

  protocol NameSource: Sendable { static var types: [EventType] { get } }
  enum NoTypes: NameSource { static let types: [EventType] = [] }
  enum EmptyName: NameSource { static let types = [EventType("")] }
  enum LongName: NameSource { static let types = [EventType(String(repeating: "n", count: 1025))] }
  enum ReservedName: NameSource { static let types = [EventType("weir.gap")] }
  enum ZeroName: NameSource { static let types = [EventType("a\0b")] }
  enum EmptyField: NameSource { static let types = [EventType("a", [Field("", .bool)])] }
  enum EmptyObject: NameSource { static let types = [EventType("a", [Field("o", .object([]))])] }
  enum DeepKind: NameSource {
    static let types = [EventType("a", [Field("o", (0..<17).reduce(.bool) { kind, _ in .array(kind) })])]
  }
  enum HugeName: NameSource { static let types = [EventType("a", [Field(String(repeating: "n", count: 70_000), .bool)])] }
  enum ManyFields: NameSource {
    static let types = [EventType("a", (0..<1025).map { Field("f\($0)", .bool) })]
  }

  @Test func definitionsThatCannotBeMade() throws {
    func check<Name: NameSource>(_ name: Name.Type) throws {
      try withDirectory { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        #expect(tracker.track(Undefinable<Name>()) == .dropped(.invalid), "\(name)")
        #expect(tracker.track(Undefinable<Name>()) == .dropped(.invalid), "\(name)")
        #expect(tracker.lastDefinitionError != nil, "\(name)")
        #expect(tracker.counters.dropped == [.invalid: 2])
        #expect(tracker.track(Checkout.started(cart: 1)).isAccepted)
      }
    }
    try check(NoTypes.self)
    try check(EmptyName.self)
    try check(LongName.self)
    try check(ReservedName.self)
    try check(ZeroName.self)
    try check(EmptyField.self)
    try check(EmptyObject.self)
    try check(DeepKind.self)
    try check(HugeName.self)
    try check(ManyFields.self)
  }
}

extension EventReader {
  /// The rest of the events.
  func all() throws -> [StoredEvent] {
    var events: [StoredEvent] = []
    while let event = try next() { events.append(event) }
    return events
  }
}

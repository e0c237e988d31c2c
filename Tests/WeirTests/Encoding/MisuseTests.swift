// Encoders that disagree with their declaration: refused, counted and reported, never written.

import TestSupport
import Testing
import Weir

struct MisuseTests {
  /// Captures what begins with `index`, if there is one, and puts the values.
  private func capturing(
    _ index: Int?, _ values: [any EventValue]
  ) throws -> (receipt: Receipt, error: WeirError?, stored: [StoredEvent]) {
    try capture(
      Loose { encoder in
        if let index { encoder.begin(index) }
        for value in values { value.encode(into: &encoder) }
      })
  }

  private func refused(_ message: String, _ index: Int?, _ values: any EventValue...) throws {
    let (receipt, error, stored) = try capturing(index, values)
    #expect(receipt == .dropped(.invalid))
    #expect(error?.code == .invalid)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "nothing noted")")
    #expect(stored.allSatisfy { $0.isNotice })
  }

  private func accepted(_ index: Int?, _ values: any EventValue...) throws {
    let (receipt, error, stored) = try capturing(index, values)
    #expect(receipt.isAccepted, "\(error?.message ?? "")")
    #expect(stored.count == 1)
  }

  /// The nested object of loose.nested.
  private struct Flag: EventValue {
    var flag: Bool
    static let fieldKind = FieldKind.object([Field("c", .bool)])
    init(_ flag: Bool) { self.flag = flag }
    func encode(into encoder: inout EventEncoder) {
      encoder.beginObject()
      encoder.put(flag)
    }
    init(fieldValue: FieldValue) throws { flag = try fieldValue.object().value("c") }
  }

  @Test func `encoders that agree with the declaration pass`() throws {
    try accepted(0, Int32(1), "x")
    try accepted(1, [Int8?](), Flag(true))
    try accepted(1, [nil, 1] as [Int8?], Flag(false))
    try accepted(2)
  }

  @Test func `an encoder has to begin`() throws {
    try refused("did not call begin", nil)
    try refused("did not call begin", nil, Int32(1), "x")
  }

  @Test func `an encoder has to begin once only`() throws {
    for values in [0, 1] {
      let (receipt, error, _) = try capture(
        Loose { encoder in
          encoder.begin(2)
          for _ in 0..<values { encoder.put(true) }
          encoder.begin(2)
        })
      #expect(receipt == .dropped(.invalid))
      #expect(error?.message.contains("begin twice") == true)
    }
  }

  @Test func `an index out of range is misuse`() throws {
    try refused("declares 3 events", 3)
    try refused("declares 3 events", 65_535)
    for index in [-1, .min, 65_536, .max, Int(UInt32.max) - 3, Int(UInt32.max) - 2, Int(UInt32.max) - 1, 1 << 32] {
      try refused("out of range", index)
    }
  }

  @Test func `a value of another kind is misuse`() throws {
    let message = "other kinds of fields than eventTypes declares for loose.two"
    try refused(message, 0)
    try refused(message, 0, Int32(1))
    try refused(message, 0, "x", Int32(1))
    try refused(message, 0, UInt32(1), "x")
    try refused(message, 0, Int64(1), "x")
    try refused(message, 0, Int32(1), String?("x"))
    try refused(message, 0, Int32(1), "x", true)
    try refused("loose.nested", 1, [Int8](), Flag(true))
    try refused("loose.nested", 1, [Int8?](), true)
  }

  /// A value that encodes something else than its kind says.
  private struct Liar: EventValue {
    static let fieldKind = FieldKind.int8
    init() {}
    func encode(into encoder: inout EventEncoder) { encoder.put(Int16(1)) }
    init(fieldValue: FieldValue) throws {}
  }

  @Test func `a value that does not keep to its kind is misuse`() throws {
    for receipt in [
      try capture(Single(Liar())).receipt, try capture(Single([Liar(), Liar()])).receipt,
      try capture(Single(Liar?(Liar()))).receipt,
    ] {
      #expect(receipt == .dropped(.invalid))
    }
    // No value, no lie.
    #expect(try capture(Single([Liar]())).receipt.isAccepted)
  }

  @Test func `refusals are counted, and reported once`() throws {
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
  enum HugeName: NameSource {
    static let types = [EventType("a", [Field(String(repeating: "n", count: 70_000), .bool)])]
  }
  enum ManyFields: NameSource {
    static let types = [EventType("a", (0..<1025).map { Field("f\($0)", .bool) })]
  }

  @Test func `a definition that cannot be made refuses its events`() throws {
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

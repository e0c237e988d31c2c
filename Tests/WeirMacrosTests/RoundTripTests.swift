// What the macro writes, at work: events that it made are accepted, and read back as what was captured.

#if Macros
  import Foundation
  import Testing
  import Weir

  enum Method: String, EventValue, CaseIterable { case card, invoice }
  enum Rank: UInt16, EventValue {
    case first = 1
    case last = 65_535
  }

  struct Price: EventValue, Equatable {
    var amount: Int64
    var currency: String?

    static let fieldKind = FieldKind.object([Field("amount", of: Int64.self), Field("currency", of: String?.self)])

    init(amount: Int64, currency: String? = nil) {
      self.amount = amount
      self.currency = currency
    }

    func encode(into encoder: inout EventEncoder) {
      encoder.beginObject()
      encoder.put(amount)
      encoder.put(currency)
    }

    init(fieldValue: FieldValue) throws {
      let object = try fieldValue.object()
      amount = try object.value("amount")
      currency = try object.value("currency")
    }
  }

  /// Every type that Weir itself can store, alone, optional and in arrays.
  @Event enum Kinds: Equatable {
    case integers(
      i8: Int8, i16: Int16, i32: Int32, i64: Int64, i: Int, u8: UInt8, u16: UInt16, u32: UInt32, u64: UInt64, u: UInt)
    case scalars(float: Float, double: Double, flag: Bool, uuid: UUID, date: Date)
    case texts(text: String, bytes: [UInt8], data: Data)
    case converted(link: URL, price: Decimal, took: Duration, tags: Set<String>, limit: Decimal?)
    case any(value: FieldValue, values: [FieldValue])
    case own(price: Price, prices: [Price], method: Method, rank: Rank)
    // swift-format-ignore: UseShorthandTypeNames
    case optionals(a: Int?, b: String?, c: Price?, d: [Int]?, e: Optional<Method>)
    // swift-format-ignore: UseShorthandTypeNames
    case nested(a: [[Int]], b: [String?], c: Array<Array<UInt8>>, d: (Int), e: Swift.Array<Swift.Int8>)
    case nothing
  }

  /// Names that code needs backticks for, or that the macro's own code uses.
  @Event enum Words: Equatable {
    case `default`(in: Int, `inout`: Int, self: Int, `let`: Int)
    case `self`(encoder: Int, stored: Int, types: Int, value0: Int, value1: Int)
    case `init`(é: Int, Self: Int, Weir: Int)
    case type0, types, stored
  }

  @Event struct Sale: Equatable {
    let order: UInt64
    private(set) var total: Double = 0
    private var secret: String
    var items: [Price] { didSet { changes += 1 } }
    var method: Method? = .card
    static let count = 1
    var isFree: Bool { total == 0 }
    private var changes: Int = 0

    init(order: UInt64, total: Double, secret: String, items: [Price]) {
      self.order = order
      self.total = total
      self.secret = secret
      self.items = items
    }
  }

  @Event struct Opened: Equatable {}

  private let types = ["g"]
  private let stored = 41

  /// Default values that say names of the code around them.
  @Event enum Defaulted: Equatable {
    case a(x: Int, n: Int = types.count, m: Int = stored)
    case b
  }
  @Event("Defaulted") enum BeforeDefaults { case a(x: Int) }

  @propertyWrapper struct Clamped: Equatable {
    var wrappedValue: Int { didSet { wrappedValue = min(wrappedValue, 100) } }
    init(wrappedValue: Int) { self.wrappedValue = min(wrappedValue, 100) }
  }

  @Event struct Wrapped: Equatable {
    @Clamped var first: Int = 3
    var order: Int
    @Clamped var second: Int
    @Field(sensitive: true) @Clamped var third: Int = 5
    var last: Int = 1
  }
  @Event("Wrapped") struct BeforeWrapping {
    var order: Int
    var second: Int
  }

  /// With warnings as errors it is the compiler that checks it.
  @Event enum Retiring: Equatable {
    @available(*, deprecated) case old(x: Int)
    @available(swift, deprecated: 5.0, message: "use other") case older(x: Int)
    case other(x: Int)
  }
  @Event struct RetiringField: Equatable {
    @available(*, deprecated) var old: Int = 1
    var new: Int
  }

  @MainActor @Event enum OnMain: Equatable { case tapped(x: Int) }

  enum Feature {
    @Event("feature") enum Profile: Equatable { case edited(name: String) }
    @Event enum Viewed: Equatable { case item(id: Int) }
  }
  enum Shop {
    @Event enum Viewed: Equatable { case item(id: Int) }
    @Event("shop.viewed") enum Named: Equatable { case item(id: Int) }
  }
  extension Feature {
    @Event fileprivate enum Hidden: Equatable { case seen(by: Int) }
  }

  @Suite struct RoundTripTests {
    private func check<E: Event & Equatable>(_ events: [E]) throws {
      #expect(try reading(events, as: E.self) == events)
    }

    @Test func `every kind of field comes back`() throws {
      let date = Date(timeIntervalSinceReferenceDate: 700_000_000.125)
      let price = Price(amount: -5, currency: "EUR")
      try check([
        Kinds.integers(i8: -128, i16: -2, i32: .min, i64: .min, i: .max, u8: 255, u16: 2, u32: .max, u64: .max, u: 0),
        .scalars(float: -0.5, double: .infinity, flag: true, uuid: UUID(), date: date),
        .texts(text: "Grüße\u{0}", bytes: [0, 255], data: Data([1, 2, 3])),
        .converted(
          link: try #require(URL(string: "https://shop.example/a?b=c")), price: Decimal(1999) / 100,
          took: .milliseconds(1500), tags: ["a", "b"], limit: nil),
        .any(value: ["a": [1, nil]], values: [true, "x", .uuid(UUID())]),
        .own(price: price, prices: [price, Price(amount: 1)], method: .invoice, rank: .last),
        .optionals(a: nil, b: nil, c: nil, d: nil, e: nil),
        .optionals(a: 1, b: "", c: price, d: [], e: .card),
        .nested(a: [[], [1, 2]], b: ["x", nil], c: [[1], []], d: 4, e: [-1]),
        .nested(a: [], b: [], c: [], d: 0, e: []),
        .nothing,
      ])
    }

    @Test func `any name may be a field's or a case's`() throws {
      try check([
        Words.default(in: 1, `inout`: 2, self: 3, let: 4),
        .`self`(encoder: 1, stored: 2, types: 3, value0: 4, value1: 5), .`init`(é: 1, Self: 2, Weir: 3), .type0, .types,
        .stored,
      ])
      #expect(Words.eventTypes.map(\.name).prefix(3) == ["Words.default", "Words.self", "Words.init"])
    }

    @Test func `a default means what it means in the declaration`() throws {
      #expect(try reading([BeforeDefaults.a(x: 1)], as: Defaulted.self) == [.a(x: 1, n: 1, m: 41)])
      try check([Defaulted.a(x: 1, n: 7, m: 8), .b])
    }

    @Test func `properties may have wrappers`() throws {
      try check([Wrapped(first: 1, order: 2, second: 3, third: 4, last: 5)])
      #expect(
        try reading([BeforeWrapping(order: 2, second: 300)], as: Wrapped.self)
          == [Wrapped(first: 3, order: 2, second: 100, third: 5, last: 1)])
    }

    @available(*, deprecated)
    private var deprecated: [Retiring] { [.old(x: 1), .older(x: 2), .other(x: 3)] }

    @available(*, deprecated)
    @Test func `a deprecated case is still an event`() throws {
      try check(deprecated)
      try check([RetiringField(old: 4, new: 2)])
    }

    @Test func `a structure is one event`() throws {
      let sale = Sale(order: 41, total: 19.9, secret: "s", items: [Price(amount: 3)])
      try check([sale])
      try check([Opened()])
      let event = try #require(try stored([sale]).first)
      #expect(event.name == "Sale")
      #expect(event.fields.map(\.name) == ["order", "total", "secret", "items", "method", "changes"])
    }

    @Test func `a type may be nested, hidden or isolated`() throws {
      try check([Feature.Profile.edited(name: "x")])
      try check([Feature.Hidden.seen(by: 3)])
      try check([OnMain.tapped(x: 1)])
      #expect(Feature.Profile.eventTypes.map(\.name) == ["feature.edited"])
      #expect(Feature.Hidden.eventTypes.map(\.name) == ["Hidden.seen"])
    }

    /// The guide tells to name types; whoever does not is told which types collide.
    @Test func `types of one name collide loudly`() throws {
      try withDirectory { directory in
        let tracker = try openQuietly(directory)
        #expect(tracker.track(Feature.Viewed.item(id: 1)).isAccepted)
        #expect(tracker.track(Shop.Viewed.item(id: 2)).isAccepted)
        #expect(tracker.counters.collidingTypes == 1)
        let message = try #require(tracker.lastDefinitionError?.message)
        #expect(message.contains("WeirMacrosTests.Feature.Viewed"), "\(message)")
        #expect(message.contains("WeirMacrosTests.Shop.Viewed"), "\(message)")

        #expect(tracker.track(Shop.Named.item(id: 3)).isAccepted)
        #expect(tracker.counters.collidingTypes == 1)
        #expect(try tracker.events(of: Shop.Named.self).map(\.event) == [.item(id: 3)])
      }
    }

    @Test func `the declaration goes into the log`() throws {
      let event = try #require(try stored([Declared.done(total: 1, email: nil)]).first)
      let declaration = try #require(event.declaration)
      #expect(event.name == "shop.finished")
      #expect(event.fields.map(\.name) == ["amount", "email"])
      #expect(declaration.wireID == 3)
      #expect(declaration.kind == .pageAction)
      #expect(declaration.formerNames == ["shop.completed"])
      #expect(declaration.fields == Declared.eventTypes[0].fields)
      #expect(declaration.fields.map(\.isSensitive) == [false, true])
      #expect(declaration.fields[0].formerNames == ["sum"])
      #expect(Declared.eventName == "shop")
      #expect(Declared.eventTypes[1].kind == .systemAction)
    }

    @Event("shop", kind: .systemAction) enum Declared {
      @Case("finished", id: 3, kind: .pageAction, formerly: ["completed"])
      @Field("amount", of: "total", formerly: ["sum"])
      @Field(of: "email", sensitive: true)
      case done(total: Double, email: String?)
      case started
    }

    /// What the macro refuses is what a log would refuse at the first capture.
    @Test func `a log takes as many fields as the macro`() throws {
      #expect(try stored([Wide<Most>()]).count == 1)
      try withDirectory { directory in
        let tracker = try openQuietly(directory)
        #expect(tracker.track(Wide<TooMany>()) == .dropped(.invalid))
      }
    }

    enum Most: FieldCount { static let count = 1024 }
    enum TooMany: FieldCount { static let count = 1025 }

    struct Wide<Count: FieldCount>: Event {
      static var eventTypes: [EventType] {
        [EventType("wide", (0..<Count.count).map { Field("f\($0)", of: UInt8.self) })]
      }
      init() {}
      init?(_ stored: StoredEvent) throws { return nil }
      func encode(into encoder: inout EventEncoder) {
        encoder.begin(0)
        for _ in 0..<Count.count { encoder.put(UInt8(0)) }
      }
    }
  }

  protocol FieldCount: Sendable { static var count: Int { get } }
#endif

// page: Sources/Weir/Weir.docc/Guides/Macro.md
//
// swift-format-ignore-file: OrderedImports
// What lies between "// snippet" and "// end" is what the page shows: PageTests.swift holds the two together.

#if Macros
  import Testing
  import WeirTesting

  /// Holds the types whose names other pages use too.
  enum MacroGuide {}

  // snippet
  import Weir

  @Event("basket", kind: .pageAction)
  enum Basket {
    case filled(product: UInt64, count: Int32 = 1)
    case emptied
  }
  // end

  extension Basket: Equatable {}

  // snippet
  @Event("order", formerly: ["checkout"], retired: ["held", 3_735_928_559])
  enum PlacedOrder {
    @Case("finished", kind: .pageAction, formerly: ["completed"])
    @Field("amount", of: "total", formerly: ["sum"])
    @Field(of: "email", sensitive: true)
    case done(order: UInt64, total: Double, email: String?, items: Int32 = 1)

    @Case(id: 12) case refunded(order: UInt64)
  }
  // end

  extension PlacedOrder: Equatable {}

  // snippet
  @Event("purchase", kind: .systemAction)
  struct Purchase {
    var order: UInt64
    @Field("amount", formerly: ["sum"], sensitive: true) var total: Double
    var items: Int32 = 1
    var coupon: String?
  }
  // end

  extension Purchase: Equatable {}

  extension MacroGuide {
    // snippet
    enum Payment: String, EventValue {
      case card
      case invoice
    }

    struct Price: EventValue, Equatable {
      var amount: Int64
      var currency: String

      static let fieldKind = FieldKind.object([
        Field("amount", of: Int64.self), Field("currency", of: String.self),
      ])

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

    @Event enum Billing {
      case paid(price: Price, by: Payment, parts: [Price]?)
    }
    // end
  }

  extension MacroGuide.Billing: Equatable {}

  extension MacroGuide.Price {
    init(_ amount: Int64, _ currency: String) {
      self.amount = amount
      self.currency = currency
    }
  }

  @Suite struct MacroGuideTests {
    @Test func `the events that the page shows are captured and read back`() throws {
      let spy = try SpyTracker()
      spy.tracker.track(Basket.filled(product: 7))
      spy.tracker.track(PlacedOrder.done(order: 1, total: 2, email: "a@example.org"))
      spy.tracker.track(Purchase(order: 1, total: 2))
      spy.tracker.track(MacroGuide.Billing.paid(price: .init(3, "EUR"), by: .card, parts: nil))
      #expect(spy.events(of: Basket.self) == [.filled(product: 7)])
      #expect(spy.events(of: PlacedOrder.self) == [.done(order: 1, total: 2, email: "a@example.org")])
      #expect(spy.events(of: Purchase.self) == [Purchase(order: 1, total: 2)])
      #expect(spy.events(of: MacroGuide.Billing.self) == [.paid(price: .init(3, "EUR"), by: .card, parts: nil)])
    }

    @Test func `the names of the events are those that the page says`() {
      #expect(Basket.eventTypes.map(\.name) == ["basket.filled", "basket.emptied"])
      #expect(PlacedOrder.eventTypes.map(\.name) == ["order.finished", "order.refunded"])
      #expect(
        PlacedOrder.eventTypes[0].formerNames == ["checkout.completed", "checkout.finished", "order.completed"])
      #expect(MacroGuide.Billing.eventTypes.map(\.name) == ["Billing.paid"])
    }
  }
#endif

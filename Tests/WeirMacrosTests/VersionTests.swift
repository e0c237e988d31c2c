// Versions of a program: each reads the logs of the others, through what @Event, @Case and @Field say.

#if Macros
  import Testing
  import Weir

  /// As it was, before the macro.
  private enum ByCodable {
    enum Order: Codable, Event, Equatable {
      case started(cart: UInt64)
      case completed(order: UInt64, total: Double, items: Int32, coupon: String?)
      case cancelled
    }
  }

  /// The same with the macro.
  private enum First {
    @Event enum Order: Codable, Equatable {
      case started(cart: UInt64)
      case completed(order: UInt64, total: Double, items: Int32, coupon: String?)
      case cancelled
    }
  }

  /// Cases, fields and the prefix renamed, a field gone, fields and a case added, in another order.
  private enum Second {
    @Event("order", formerly: ["Order"], retired: ["cancelled"]) enum Order: Equatable {
      case refunded(order: UInt64)
      @Case("finished", formerly: ["completed"])
      @Field("amount", of: "amount", formerly: ["total"])
      case finished(amount: Double, order: UInt64, coupon: String?, currency: String = "EUR", note: String?)
      case started(cart: UInt64)
    }
  }

  private enum Structures {
    @Event("sale") struct Old: Equatable {
      var order: UInt64
      var total: Double?
    }
    @Event("purchase", formerly: ["sale"]) struct New: Equatable {
      var order: UInt64
      @Field("amount", formerly: ["total"]) var total: Double = 1
      var items: Int32 = 1
      var coupon: String?
    }
  }

  @Suite struct VersionTests {
    @Test func `a log of Codable events is read by the macro's`() throws {
      let old: [ByCodable.Order] = [
        .started(cart: 7), .completed(order: 1, total: 2.5, items: 3, coupon: nil),
        .completed(order: 1, total: 2.5, items: 3, coupon: "x"), .cancelled,
      ]
      #expect(
        try reading(old, as: First.Order.self) == [
          .started(cart: 7), .completed(order: 1, total: 2.5, items: 3, coupon: nil),
          .completed(order: 1, total: 2.5, items: 3, coupon: "x"), .cancelled,
        ])
      #expect(
        try reading(old, as: Second.Order.self) == [
          .started(cart: 7), .finished(amount: 2.5, order: 1, coupon: nil, note: nil),
          .finished(amount: 2.5, order: 1, coupon: "x", note: nil), nil,
        ])
      #expect(First.Order.eventTypes.map(\.name) == ["Order.started", "Order.completed", "Order.cancelled"])
    }

    @Test func `a log of the macro's events is read by Codable ones`() throws {
      let new: [First.Order] = [.started(cart: 7), .completed(order: 1, total: 2.5, items: 3, coupon: nil), .cancelled]
      #expect(
        try reading(new, as: ByCodable.Order.self) == [
          .started(cart: 7), .completed(order: 1, total: 2.5, items: 3, coupon: nil), .cancelled,
        ])
    }

    @Test func `a new program reads an old log`() throws {
      let old: [First.Order] = [.started(cart: 7), .completed(order: 1, total: 2.5, items: 3, coupon: "x"), .cancelled]
      #expect(
        try reading(old, as: Second.Order.self) == [
          .started(cart: 7), .finished(amount: 2.5, order: 1, coupon: "x", currency: "EUR", note: nil), nil,
        ])
    }

    @Test func `an old program reads a new log`() throws {
      let new: [Second.Order] = [.refunded(order: 1), .started(cart: 7)]
      #expect(try reading(new, as: First.Order.self) == [nil, .started(cart: 7)])
      // It needs a field that the new program does not have any more.
      let finished = [Second.Order.finished(amount: 2.5, order: 1, coupon: nil, note: nil)]
      #expect {
        try reading(finished, as: First.Order.self)
      } throws: { error in
        (error as? FieldError)?.field == "items"
      }
    }

    @Test func `structures change like cases`() throws {
      #expect(
        try reading([Structures.Old(order: 1, total: 2), .init(order: 1)], as: Structures.New.self) == [
          Structures.New(order: 1, total: 2), Structures.New(order: 1, total: 1),
        ])
      #expect(
        try reading([Structures.New(order: 1, total: 2, items: 3, coupon: "x")], as: Structures.Old.self) == [
          Structures.Old(order: 1, total: 2)
        ])
    }

    @Test func `ids stay through every rename`() {
      #expect(Second.Order.eventTypes[1].wireID == First.Order.eventTypes[1].wireID)
      #expect(Second.Order.eventTypes[2].wireID == First.Order.eventTypes[0].wireID)
      #expect(Structures.New.eventTypes[0].wireID == Structures.Old.eventTypes[0].wireID)
      #expect(
        Second.Order.eventTypes[1].formerNames == ["Order.completed", "Order.finished", "order.completed"])
    }
  }
#endif

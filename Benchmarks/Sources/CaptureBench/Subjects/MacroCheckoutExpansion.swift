// MacroCheckoutExpansion.swift: the event of WeirMacroSubject, with what the macro @Event writes for it.
//
// In place of the macro itself, because a release build of swift-syntax takes minutes. A test in WeirMacrosTests expands
// the macro and compares: this is what `@Event("checkout")` before the enum gives.

// swift-format-ignore-file

import Weir

enum MacroCheckout {
  case started(cart: UInt64)
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)

  nonisolated static var eventName: Swift.String {
    "checkout"
  }

  nonisolated static let eventTypes: [Weir.EventType] = {
    func type0() -> Weir.EventType {
      Weir.EventType("checkout.started", [
        Weir.Field("cart", of: (UInt64).self),
      ], wireID: 0x45b959ae)
    }
    func type1() -> Weir.EventType {
      Weir.EventType("checkout.completed", [
        Weir.Field("order", of: (UInt64).self),
        Weir.Field("total", of: (Double).self),
        Weir.Field("items", of: (Int32).self),
        Weir.Field("coupon", of: (String).self),
      ], wireID: 0x001dbaa2)
    }
    return [type0(), type1()]
  }()

  @inline(__always)
  nonisolated func encode(into encoder: inout Weir.EventEncoder) {
    switch self {
    case .started(cart: let value0):
      encoder.begin(0)
      encoder.put(value0)
    case .completed(order: let value0, total: let value1, items: let value2, coupon: let value3):
      encoder.begin(1)
      encoder.put(value0)
      encoder.put(value1)
      encoder.put(value2)
      encoder.put(value3)
    }
  }

  nonisolated init?(_ weirStored: Weir.StoredEvent) throws {
    let weirTypes = Self.eventTypes
    switch weirStored.index(in: weirTypes) {
    case 0:
      self = .started(
        cart: try weirStored.value(weirTypes[0].fields[0]))
    case 1:
      self = .completed(
        order: try weirStored.value(weirTypes[1].fields[0]),
        total: try weirStored.value(weirTypes[1].fields[1]),
        items: try weirStored.value(weirTypes[1].fields[2]),
        coupon: try weirStored.value(weirTypes[1].fields[3]))
    default:
      return nil
    }
  }
}

extension MacroCheckout: Weir.Event {
}

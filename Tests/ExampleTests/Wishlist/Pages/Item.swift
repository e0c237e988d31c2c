// Item: what the shop sells.

#if Macros
  struct Item: Hashable, Sendable {
    let id: UInt64
    let sku: String
    let price: Double
  }
#endif

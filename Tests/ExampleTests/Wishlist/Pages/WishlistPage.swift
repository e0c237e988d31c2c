// WishlistPage: the items that somebody wishes for.

#if Macros
  import Weir
  import WeirAspects

  @Instrumented
  final class WishlistPage: ItemListPage {
    private let stock: Stock

    init(_ items: [Item], stock: Stock) {
      self.stock = stock
      super.init(items)
    }

    /// Whoever likes an item here has it on the list already.
    @discardableResult
    override func like(_ item: Item) -> Bool {
      super.like(item)
    }

    /// How many of it are in the cart then.
    func moveToCart(_ item: Item, count: Int) async throws -> Int {
      let inCart = try await stock.reserve(item, count: count)
      try remove(item)
      return inCart
    }
  }

  /// What is left of the items.
  actor Stock {
    private var left: [UInt64: Int]
    private var reserved: [UInt64: Int] = [:]

    init(_ left: [UInt64: Int]) { self.left = left }

    func reserve(_ item: Item, count: Int) throws -> Int {
      guard let there = left[item.id], there >= count else { throw SoldOut(id: item.id) }
      left[item.id] = there - count
      reserved[item.id, default: 0] += count
      return reserved[item.id, default: 0]
    }
  }

  struct SoldOut: Error, Hashable {
    let id: UInt64
  }
#endif

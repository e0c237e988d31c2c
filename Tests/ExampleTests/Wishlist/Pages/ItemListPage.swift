// ItemListPage: a page with a list of items, whatever they are listed for.

#if Macros
  import Weir
  import WeirAspects

  @Instrumented
  class ItemListPage {
    private(set) var items: [Item]
    private(set) var liked: Set<UInt64> = []

    init(_ items: [Item]) {
      self.items = items
    }

    func appear() {}

    func disappear() {}

    /// True if it was not liked before.
    @discardableResult
    func like(_ item: Item) -> Bool {
      liked.insert(item.id).inserted
    }

    func remove(_ item: Item) throws {
      guard let index = items.firstIndex(of: item) else { throw ItemMissing(id: item.id) }
      items.remove(at: index)
    }
  }

  struct ItemMissing: Error, Hashable {
    let id: UInt64
  }
#endif

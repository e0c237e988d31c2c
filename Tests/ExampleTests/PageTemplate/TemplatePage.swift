// TemplatePage: a page to begin with. Where the page is there already, this file goes, and the class gets @Instrumented.

#if Macros
  import WeirAspects

  @Instrumented
  final class TemplatePage {
    private(set) var items: [String]

    init(_ items: [String]) { self.items = items }

    func appear() {}

    func disappear() {}

    /// False if the item is not there.
    func choose(_ item: String) -> Bool { items.contains(item) }
  }
#endif

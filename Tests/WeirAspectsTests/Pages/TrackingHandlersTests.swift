import Synchronization
import TestSupport
import Testing
import Weir
import WeirAspects
import WeirScopes

// One after the other: each listens to every page of the class.
@Suite(.serialized) struct TrackingHandlersTests {
  private class GalleryPage: ListenedPage {}
  private final class SpecialGalleryPage: GalleryPage {}

  private typealias Handler = TrackingHandler<GalleryPage, String, Notes>

  private func everyPage(_ notes: Notes) -> TrackingHandlers<Handler> {
    TrackingHandlers(
      exactly: GalleryPage.self, entering: ListenedPage.opened, leaving: ListenedPage.closed, interaction: "done"
    ) { page in
      let handler = Handler(page, delegate: notes) { $0.title }
      handler.before(ListenedPage.bought) { handler, _, call in handler.delegate.note("bought \(call.count)") }
      return handler
    }
  }

  @Test func `every page of the class has a handler while it is entered`() {
    let notes = Notes()
    let handlers = everyPage(notes)
    let (first, second) = (GalleryPage("a"), GalleryPage("b"))
    #expect(handlers.count == 0)
    #expect(handlers[first] == nil)
    first.open()
    second.open()
    #expect(handlers.count == 2)
    #expect(handlers[first]?.owner === first)
    _ = first.buy(count: 1)
    first.close()
    _ = first.buy(count: 2)
    _ = second.buy(count: 3)
    second.close()
    #expect(handlers.count == 0)
    #expect(
      notes.all == [
        "entered a", "entered b", "bought 1", "exited a by done", "bought 3", "exited b by done",
      ])
  }

  @Test func `subclasses are not of the class`() {
    let notes = Notes()
    let handlers = everyPage(notes)
    SpecialGalleryPage().open()
    #expect(handlers.count == 0)
    #expect(notes.all == [])
  }

  @Test func `pages that ended without being left go with the next`() {
    let notes = Notes()
    let handlers = everyPage(notes)
    for number in 0..<100 { GalleryPage("\(number)").open() }
    #expect(notes.all.filter { $0.hasSuffix("by released") }.count == 99)
    #expect(handlers.count == 1)
  }

  @Test func `the end of the handlers detaches`() {
    let notes = Notes()
    var handlers: TrackingHandlers<Handler>? = everyPage(notes)
    let page = GalleryPage()
    page.open()
    handlers = nil
    #expect(handlers == nil)
    page.close()
    page.open()
    #expect(notes.all == ["entered cart", "exited cart by released"])
  }

  @Test func `an object is not taken for one that ended at its address`() {
    let notes = Notes()
    // Without hooks of their own, which would keep the objects' memory.
    let handlers = TrackingHandlers(
      exactly: GalleryPage.self, entering: ListenedPage.opened, leaving: ListenedPage.closed
    ) { page in Handler(page, delegate: notes) { $0.title } }
    for number in 0..<100 {
      GalleryPage("\(number)").open()
      GalleryPage("other").close()
    }
    #expect(handlers.count == 1)
    #expect(notes.all.filter { $0.hasPrefix("exited") }.allSatisfy { $0.hasSuffix("by released") })
    #expect(!notes.all.contains { $0.contains("other") })
  }

  @Test func `an object may be left as it ends`() {
    final class LeavingPage: ListenedPage {
      deinit { close() }
    }
    let notes = Notes()
    let handlers = TrackingHandlers(
      exactly: LeavingPage.self, entering: ListenedPage.opened, leaving: ListenedPage.closed
    ) { page in TrackingHandler(page, delegate: notes) { $0.title } }
    LeavingPage("a").open()
    #expect(handlers.count == 0)
    #expect(notes.all == ["entered a", "exited a by back"])
  }

  @Test func `pages that ended are looked for now and then`() {
    let notes = Notes()
    let handlers = everyPage(notes)
    let pages = (0..<100).map { GalleryPage("kept \($0)") }
    for page in pages { page.open() }
    for number in 0..<1000 {
      GalleryPage("\(number)").open()
      #expect(handlers.count <= 2 * (pages.count + 1))
    }
    for page in pages { page.close() }
    #expect(notes.all.filter { $0.hasPrefix("exited kept") && $0.hasSuffix("by done") }.count == 100)
  }
}

import Synchronization
import Testing
import Weir

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

  @Test func everyPageOfTheClassHasAHandlerWhileItIsEntered() {
    let notes = Notes()
    let handlers = everyPage(notes)
    let (first, second) = (GalleryPage("a"), GalleryPage("b"))
    #expect(handlers.count == 0 && handlers[first] == nil)
    first.open()
    second.open()
    #expect(handlers.count == 2 && handlers[first]?.owner === first)
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

  @Test func subclassesAreNotOfTheClass() {
    let notes = Notes()
    let handlers = everyPage(notes)
    SpecialGalleryPage().open()
    #expect(handlers.count == 0)
    #expect(notes.all == [])
  }

  @Test func pagesThatEndedWithoutBeingLeftGoWithTheNext() {
    let notes = Notes()
    let handlers = everyPage(notes)
    for number in 0..<100 { GalleryPage("\(number)").open() }
    #expect(notes.all.filter { $0.hasSuffix("by released") }.count == 99)
    #expect(handlers.count == 1)
  }

  @Test func itsEndDetaches() {
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
}

// Every page of a class: which are tracked, and what becomes of those that end without being left.

import TestSupport
import Testing
import Weir
import WeirScopes
import WeirTesting

@testable import WeirAspects

// One after the other: each listens to every page of the class.
@Suite(.serialized) struct OpenPagesTests {
  private class GalleryPage: ListenedPage {}
  private final class SpecialGalleryPage: GalleryPage {}

  private func tracking(
    _ target: Hook.Target<GalleryPage, GalleryPage>, _ spy: SpyTracker
  ) -> PageTracking<GalleryPage> {
    let tracking = PageTracking("gallery", of: target, tracker: spy.tracker)
    tracking.enters(on: ListenedPage.opened)
    tracking.exits(on: ListenedPage.closed, interaction: "done")
    return tracking
  }

  @Test func `every page of the class has a showing of its own`() throws {
    let (spy, first, second) = (try SpyTracker(), GalleryPage("a"), GalleryPage("b"))
    let tracking = tracking(.exactly(GalleryPage.self), spy)
    first.open()
    second.open()
    #expect(tracking.pages.count == 2)
    #expect(tracking[first]?.id != tracking[second]?.id)
    first.close()
    #expect(tracking[first] == nil)
    #expect(tracking[second] != nil)
    second.close()
    #expect(tracking.pages.count == 0)
    #expect(
      spy.showings == ["entered gallery", "entered gallery", "exited gallery by done", "exited gallery by done"])
  }

  @Test func `a tracking of exactly a class hears no subclass and no sibling`() throws {
    let spy = try SpyTracker()
    let tracking = tracking(.exactly(GalleryPage.self), spy)
    for page in [SpecialGalleryPage(), ListenedPage()] { page.open() }
    #expect(tracking.pages.count == 0)
    #expect(spy.showings == [])
  }

  @Test func `a tracking of a kind hears the subclasses, and a tracking of everything no other class`() throws {
    let spy = try SpyTracker()
    for target: Hook.Target<GalleryPage, GalleryPage> in [.kind(of: GalleryPage.self), .everything] {
      let tracking = tracking(target, spy)
      let pages = [GalleryPage(), SpecialGalleryPage(), ListenedPage()]
      for page in pages { page.open() }
      #expect(tracking.pages.count == 2)
    }
  }

  @Test func `pages that ended without being left go with the next`() throws {
    let spy = try SpyTracker()
    let tracking = tracking(.exactly(GalleryPage.self), spy)
    for number in 0..<100 { GalleryPage("\(number)").open() }
    #expect(spy.showings.filter { $0 == "exited gallery by released" }.count == 99)
    #expect(tracking.pages.count == 1)
  }

  @Test func `a page is not taken for one that ended at its address`() throws {
    let spy = try SpyTracker()
    let tracking = tracking(.exactly(GalleryPage.self), spy)
    for number in 0..<100 {
      GalleryPage("\(number)").open()
      GalleryPage("other").close()
    }
    #expect(tracking.pages.count == 1)
    #expect(!spy.showings.contains("exited gallery by done"))
  }

  @Test func `a page may be left as it ends`() throws {
    final class LeavingPage: ListenedPage {
      deinit { close() }
    }
    let spy = try SpyTracker()
    let tracking = PageTracking("leaving", of: .exactly(LeavingPage.self), tracker: spy.tracker)
    tracking.enters(on: ListenedPage.opened)
    tracking.exits(on: ListenedPage.closed)
    LeavingPage("a").open()
    #expect(tracking.pages.count == 0)
    #expect(spy.showings == ["entered leaving", "exited leaving by back"])
  }

  @Test func `pages that ended are looked for now and then`() throws {
    let spy = try SpyTracker()
    let tracking = tracking(.exactly(GalleryPage.self), spy)
    let pages = (0..<100).map { GalleryPage("kept \($0)") }
    for page in pages { page.open() }
    for number in 0..<1000 {
      GalleryPage("\(number)").open()
      #expect(tracking.pages.count <= 2 * (pages.count + 1))
    }
    for page in pages { page.close() }
    #expect(spy.showings.filter { $0 == "exited gallery by done" }.count == 100)
  }
}

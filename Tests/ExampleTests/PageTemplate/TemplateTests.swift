// TemplateTests: a visit to the page, seen by a spy, and by nobody.

#if Macros
  import Testing
  import Weir
  import WeirAspects
  import WeirTesting

  @Suite struct TemplateTests {
    @Test func `a visit is a scope with what was chosen`() throws {
      // The hooks hear the calls of this test, and of no other.
      try withTaskLocalHooks {
        let spy = try SpyTracker()
        let tracking = TemplateTracking(spy.tracker)
        let page = TemplatePage(["hat"])
        page.appear()
        #expect(page.choose("hat"))
        #expect(!page.choose("coat"))
        page.disappear()
        #expect(spy.names == ["scope.entered", "template.chosen", "scope.exited"])
        #expect(spy.events(of: TemplateEvent.self) == [.chosen(item: "hat", of: 1)])
        #expect(Set(spy.all.map { $0.context.view?.id }).count == 1)
        withExtendedLifetime(tracking) {}
      }
    }

    @Test func `the page is the same without tracking`() {
      #expect(TemplatePage(["hat"]).choose("hat"))
    }
  }
#endif

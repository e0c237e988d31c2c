// TemplateTracking: what is captured of the page, and when.

#if Macros
  import Weir
  import WeirAspects

  @Event("template")
  enum TemplateEvent: Equatable {
    case chosen(item: String, of: Int32)
  }

  /// Kept by whoever puts the program together: when the tracking goes, its hooks go.
  struct TemplateTracking: Sendable {
    let pages: PageTracking<TemplatePage>

    init(_ tracker: Tracker) {
      pages = PageTracking("template", of: .exactly(TemplatePage.self), tracker: tracker)
      pages.enters(on: TemplatePage.JoinPoints.appear)
      pages.exits(on: TemplatePage.JoinPoints.disappear)
      pages.after(TemplatePage.JoinPoints.choose) { page, call, outcome in
        guard outcome.returned == true else { return }
        tracker.track(TemplateEvent.chosen(item: call.item, of: Int32(clamping: page.items.count)))
      }
    }
  }
#endif

// EventKind: the category of an event.

/// The category of an event. A part of the declaration, not of each event.
public enum EventKind: String, CaseIterable, Hashable, Sendable {
  /// A page, screen or view was shown, or a server answered a request for a page.
  case pageView = "page_view"
  /// A user did something in a page, screen or view.
  case pageAction = "page_action"
  /// The system did something without a user.
  case systemAction = "system_action"
}

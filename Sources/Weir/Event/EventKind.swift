// EventKind: what sort of thing an event reports.

/// What sort of thing an event reports. It is part of the declaration, not of each event.
public enum EventKind: String, CaseIterable, Hashable, Sendable {
  /// A page, screen or view was shown; on a server, a request for one was answered.
  case pageView = "page_view"
  /// A user did something in one.
  case pageAction = "page_action"
  /// The system did something by itself.
  case systemAction = "system_action"
}

// PageView and PageExit: the events that most programs with pages have, ready made.

/// A page, screen or view was shown; on a server, a request for one was answered.
///
/// ```swift
/// Bindings.with(view: "/checkout") {
///   tracker.track(PageView(page: "/checkout", referrer: "/cart"))
///   …
///   tracker.track(PageExit(page: "/checkout", interaction: "submit", seconds: 12.5))
/// }
/// ```
///
/// Inside of ``Bindings`` the event's context has the showing's unique id: ``EventContext/view``.
public struct PageView: Event, Hashable {
  /// The page's name or path.
  public var page: String

  /// Where the user came from, if that is known.
  public var referrer: String?

  /// A showing of a page.
  public init(page: String, referrer: String? = nil) {
    self.page = page
    self.referrer = referrer
  }

  public static let eventTypes = [
    EventType("page.viewed", [Field("page", .string), Field("referrer", .optional(.string))], kind: .pageView)
  ]

  @inlinable
  public func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(page)
    encoder.put(referrer)
  }

  public init?(_ stored: StoredEvent) throws {
    guard stored.index(in: Self.eventTypes) == 0 else { return nil }
    self.init(page: try stored["page"], referrer: try stored["referrer"])
  }
}

/// A user left a page, screen or view: by which interaction, and after how long.
public struct PageExit: Event, Hashable {
  /// The page's name or path.
  public var page: String

  /// What ended it: `back`, `submit`, `timeout`.
  public var interaction: String

  /// How long it was shown.
  public var seconds: Double

  /// The end of a showing.
  public init(page: String, interaction: String, seconds: Double) {
    self.page = page
    self.interaction = interaction
    self.seconds = seconds
  }

  public static let eventTypes = [
    EventType(
      "page.exited", [Field("page", .string), Field("interaction", .string), Field("seconds", .double)],
      kind: .pageAction)
  ]

  @inlinable
  public func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(page)
    encoder.put(interaction)
    encoder.put(seconds)
  }

  public init?(_ stored: StoredEvent) throws {
    guard stored.index(in: Self.eventTypes) == 0 else { return nil }
    self.init(page: try stored["page"], interaction: try stored["interaction"], seconds: try stored["seconds"])
  }
}

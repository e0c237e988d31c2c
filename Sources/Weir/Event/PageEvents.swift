// PageView and PageExit: ready-made events for programs that have pages.

/// A page, screen or view was shown, or a server answered a request for a page.
///
/// ```swift
/// Bindings.with(view: "/checkout") {
///   tracker.track(PageView(page: "/checkout", referrer: "/cart"))
///   …
///   tracker.track(PageExit(page: "/checkout", interaction: "submit", seconds: 12.5))
/// }
/// ```
///
/// Within ``Bindings``, the event's ``EventContext/view`` has the unique id of the showing.
public struct PageView: Event, Hashable {
  /// The page's name or path.
  public var page: String

  /// The page that the user came from, if known.
  public var referrer: String?

  /// Creates the event of a page that was shown.
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

/// A user left a page, screen or view.
public struct PageExit: Event, Hashable {
  /// The page's name or path.
  public var page: String

  /// The interaction that ended the showing: `back`, `submit`, `timeout`.
  public var interaction: String

  /// The duration of the showing, in seconds.
  public var seconds: Double

  /// Creates the event of a page that was left.
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

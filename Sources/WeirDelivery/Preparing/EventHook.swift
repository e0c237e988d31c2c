// EventHook: code of the application's own on the way of an event to a provider.

import Weir

/// What a hook says of an event.
public enum HookVerdict: Hashable, Sendable {
  /// The event goes on, as the hook left it.
  case keep
  /// The event does not go to this provider. It stays in the log, and ``Preparation/Counts/dropped`` counts it under
  /// the hook's name.
  case drop
}

/// A named closure that sees each event on its way to a provider, and may change or drop it.
///
/// ```swift
/// let plan = EventHook("plan") { event in
///   event.fields["plan"] = event.context.user?.traits["plan"]
///   return .keep
/// }
/// let noStaff = EventHook("no staff") { event in
///   event.context.user?.traits["staff"] == true ? .drop : .keep
/// }
/// ```
///
/// It runs off the capture path, on the thread that prepares, one event at a time; its cost is its own, and holds up
/// this provider alone. It can't throw. As an event may be prepared more than once, it should answer the same for the
/// same event. It sees the true values of sensitive fields, which are replaced after the last hook: what it copies into
/// other fields is replaced only if these are marked too.
public struct EventHook: Sendable {
  /// The name that its drops are counted under.
  public let name: String

  let body: @Sendable (inout PreparedEvent) -> HookVerdict

  /// A hook.
  public init(_ name: String, _ body: @escaping @Sendable (inout PreparedEvent) -> HookVerdict) {
    self.name = name
    self.body = body
  }
}

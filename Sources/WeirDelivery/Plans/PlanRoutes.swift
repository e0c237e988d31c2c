// PlanRoutes: which providers of a plan get which events.

import Weir
import WeirJSON

extension DeliveryPlan {
  /// A rule for which events go to which providers.
  public struct Route: Hashable, Sendable {
    /// The names of the events, as they were captured. `*` matches any text.
    public var events: [String]

    /// The names of the providers that get the events; empty for none.
    public var to: [String]

    /// Creates a route.
    public init(_ events: String..., to: [String]) {
      self.events = events
      self.to = to
    }

    init(events: [String], to: [String]) {
      self.events = events
      self.to = to
    }
  }

  /// The plan with its routes as the first step of each provider's mapper, and without routes.
  package var routed: DeliveryPlan {
    guard !routes.isEmpty else { return self }
    var plan = self
    plan.routes = []
    for index in plan.entries.indices {
      let entry = plan.entries[index]
      plan.entries[index].mapper = .routed(by: routes, to: entry.name).then(entry.mapper)
    }
    return plan
  }
}

extension EventMapper {
  /// Withholds the events whose first matching route does not lead to this provider.
  fileprivate static func routed(by routes: [DeliveryPlan.Route], to name: String) -> EventMapper {
    let rules = routes.map { (names: NamePatterns($0.events), isHere: $0.to.contains(name)) }
    let form = MapperForm.step("routed", [("routes", .list(routes.map(\.node))), ("to", .text(name))])
    return EventMapper(form) { event, _ in rules.first { $0.names.match(event.stored.name) }?.isHere ?? true }
  }
}

extension DeliveryPlan.Route {
  /// The route in a plan's file.
  var node: DocumentNode { .map([("events", .texts(events)), ("to", .texts(to))]) }
}

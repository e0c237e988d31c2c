// Shop.swift: the four requests, in memory. What they answer is the same with Weir and without.
import Hummingbird
import Weir

struct Shop: Sendable {
  /// `nil`: nothing is captured.
  let tracker: Tracker?

  func addRoutes(to router: Router<BasicRequestContext>) {
    router.get("/items/:item") { _, context in
      let item = try context.parameters.require("item", as: UInt64.self)
      tracker?.track(Shopping.opened(item: item, position: Int32(item % 20)))
      return #"{"item":\#(item),"name":"a thing","price":\#(item % 100).99,"stock":\#(item % 7)}"#
    }
    router.get("/search") { request, _ in
      let query = request.uri.queryParameters["q"].map { String($0) } ?? ""
      tracker?.track(Shopping.searched(query: query, results: 3))
      return #"{"query":"\#(query)","items":[1,2,3]}"#
    }
    router.post("/carts/:cart") { _, context in
      let cart = try context.parameters.require("cart", as: UInt64.self)
      tracker?.track(Shopping.added(cart: cart, item: cart % 1000))
      return #"{"cart":\#(cart),"items":2}"#
    }
    router.post("/orders/:order") { _, context in
      let order = try context.parameters.require("order", as: UInt64.self)
      tracker?.track(Shopping.placed(order: order, total: Double(order % 10_000) / 100))
      tracker?.track(Shopping.paid(order: order, method: "card"))
      return #"{"order":\#(order),"state":"paid"}"#
    }
  }
}

/// Binds the user, the request's id and the page around a request: what a program's own middleware does.
struct RequestMiddleware: RouterMiddleware {
  typealias Context = BasicRequestContext

  /// `false`: reads the three, and binds nothing.
  let isBinding: Bool

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let (user, id, page) = (request.headers[.userAgent], context.id, request.uri.path)
    guard isBinding else {
      guard user != "", id != "", page != "" else { throw HTTPError(.badRequest) }
      return try await next(request, context)
    }
    return try await Bindings.with(user: user, fields: ["request": .string(id)], view: page) {
      try await next(request, context)
    }
  }
}

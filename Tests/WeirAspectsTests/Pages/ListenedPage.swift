// Pages with join points, as the macro writes them.

import TestSupport
import Weir
import WeirAspects
import WeirScopes
import WeirTesting

class ListenedPage {
  var title: String

  init(_ title: String = "cart") { self.title = title }

  static let opened = JoinPoint<ListenedPage, (), Void>("ListenedPage.open()")
  static let closed = JoinPoint<ListenedPage, (), Void>("ListenedPage.close()")
  static let bought = JoinPoint<ListenedPage, (count: Int, ()), Int>("ListenedPage.buy(count:)")

  func open() { withJoinPoint(Self.opened, self, ()) {} }

  func close() { withJoinPoint(Self.closed, self, ()) {} }

  func buy(count: Int) -> Int { withJoinPoint(Self.bought, self, (count: count, ())) { count * 2 } }
}

actor ListenedCart {
  private(set) var count = 0

  static let opened = JoinPoint<ListenedCart, (), Void>("ListenedCart.open()")
  static let added = JoinPoint<ListenedCart, (items: Int, ()), Void>("ListenedCart.add(_:)")

  func open() { withJoinPoint(Self.opened, self, ()) {} }

  func add(_ items: Int) { withJoinPoint(Self.added, self, (items: items, ())) { count += items } }
}

extension SpyTracker {
  /// The scopes' events in order: `entered cart`, `exited cart by back`.
  var showings: [String] {
    recorded(of: ScopeEvent.self).map(\.event).map { event in
      switch event {
      case .entered(let name): "entered \(name)"
      case .exited(let name, let interaction, _, _): "exited \(name) by \(interaction)"
      case .suspended(let name): "suspended \(name)"
      case .resumed(let name): "resumed \(name)"
      }
    }
  }
}

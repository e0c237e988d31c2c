// A page with join points, as the macro writes them, and a delegate that notes what it is told.

import Synchronization
import TestSupport
import Weir
import WeirAspects
import WeirScopes

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

final class SpecialPage: ListenedPage {}

actor ListenedCart {
  private(set) var count = 0

  static let opened = JoinPoint<ListenedCart, (), Void>("ListenedCart.open()")
  static let added = JoinPoint<ListenedCart, (items: Int, ()), Void>("ListenedCart.add(_:)")

  func open() { withJoinPoint(Self.opened, self, ()) {} }

  func add(_ items: Int) { withJoinPoint(Self.added, self, (items: items, ())) { count += items } }
}

/// Notes what it is told, in order.
final class Notes: TrackingDelegate {
  typealias Info = String

  private let lines = Mutex<[String]>([])

  var all: [String] { lines.withLock { $0 } }

  func note(_ line: String) { lines.withLock { $0.append(line) } }

  func entered(_ info: String) { note("entered \(info)") }
  func exited(_ info: String, interaction: String) { note("exited \(info) by \(interaction)") }
  func suspended(_ info: String) { note("suspended \(info)") }
  func resumed(_ info: String) { note("resumed \(info)") }
}

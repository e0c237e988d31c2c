// TrackingDelegate: whom a tracking handler tells what it saw.

import Weir

/// What a ``TrackingHandler`` tells of its page: a struct of raw facts each time, which the delegate makes events of.
///
/// The handler knows when something happened, the delegate what is sent for it. So neither the page nor its handler
/// names an event, and a test can put a delegate of its own in the place of the real one. A page's own happenings go
/// into a protocol that refines this one, or into methods of the coordinator.
///
/// **Threads.** Called on the thread on which it happened, or on one that is telling of something before it; one call
/// after the other for one handler, with the user, the fields and the view that are bound where it happened. It must not
/// block: it runs inside the page's own calls.
public protocol TrackingDelegate<Info>: Sendable {
  /// What is known about the page when something happens.
  associatedtype Info: Sendable

  /// The page is entered.
  func entered(_ info: Info)

  /// The page is left, by this interaction: `back`, `submit`; `shutdown` if the process ends, `released` if the handler
  /// goes first.
  func exited(_ info: Info, interaction: String)

  /// The page or the process is suspended.
  func suspended(_ info: Info)

  /// It goes on.
  func resumed(_ info: Info)
}

extension TrackingDelegate {
  public func entered(_ info: Info) {}
  public func exited(_ info: Info, interaction: String) {}
  public func suspended(_ info: Info) {}
  public func resumed(_ info: Info) {}
}

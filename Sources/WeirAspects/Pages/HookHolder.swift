// HookHolder: what listens to one object, with hooks that go with it.

import Weir

/// A ``TrackingHandler`` of any class, so that advice gets the handler as what it is.
///
/// Not for types of your own: subclass ``TrackingHandler``.
public protocol HookHolder: AnyObject, Sendable {
  associatedtype Owner: AnyObject

  /// The object that it listens to; nil once that is gone.
  var owner: Owner? { get }

  /// Keeps a hook as long as this lives.
  func hold(_ hook: Hook)

  /// The object is entered.
  func enter(_ owner: Owner)

  /// The object is left.
  func exit(_ owner: Owner, interaction: String)

  /// The object is suspended.
  func suspend()

  /// It goes on.
  func resume()
}

extension HookHolder {
  /// Calls `advice` before each call on this object, with this handler, the object and the parameters. It is detached
  /// when the handler goes; until then the advice does not keep the handler.
  ///
  /// The join point must be of the object's class or a superclass: with any other this traps.
  public func before<Base: AnyObject, Parameters, Returned>(
    _ joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Self, Owner, Parameters) -> Void
  ) {
    guard let owner else { return }
    hold(
      joinPoint.before(on: owner, file: file, line: line) { [weak self] owner, parameters in
        if let self { advice(self, owner, parameters) }
      })
  }

  /// Calls `advice` after each call on this object, also with what it returned or threw. Otherwise as
  /// ``before(_:file:line:_:)``.
  public func after<Base: AnyObject, Parameters, Returned>(
    _ joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Self, Owner, Parameters, Result<Returned, any Error>) -> Void
  ) {
    guard let owner else { return }
    hold(
      joinPoint.after(on: owner, file: file, line: line) { [weak self] owner, parameters, outcome in
        if let self { advice(self, owner, parameters, outcome) }
      })
  }

  /// The page is entered when this is called, before its body runs.
  public func enters<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    before(joinPoint, file: file, line: line) { handler, owner, _ in handler.enter(owner) }
  }

  /// The page is left when this has been called, by this interaction; also if it threw. Where a page stays open then,
  /// it is ``after(_:file:line:_:)`` with a look at the outcome that calls ``exit(_:interaction:)``.
  public func exits<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, interaction: String = "back",
    file: StaticString = #fileID, line: UInt32 = #line
  ) {
    after(joinPoint, file: file, line: line) { handler, owner, _, _ in handler.exit(owner, interaction: interaction) }
  }

  /// The page is suspended when this has been called.
  public func suspends<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    after(joinPoint, file: file, line: line) { handler, _, _, _ in handler.suspend() }
  }

  /// It goes on when this is called.
  public func resumes<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    before(joinPoint, file: file, line: line) { handler, _, _ in handler.resume() }
  }
}

// Dispatcher, releasing: what another process delivered, the writer may remove.

public import Weir

extension Dispatcher {
  /// Says to the log which events every provider has, those that other processes deliver to among them, so that
  /// `Tracker.Configuration.removeDelivered` may remove their segments.
  ///
  /// A dispatcher does this by itself whenever a provider of its own gets on. To be called now and then where there is
  /// none, because `weir deliver` or another process does all of the delivery. Without a tracker it does nothing: only
  /// the writer removes. Costs a listing of `cursors`, and a read of each. Throws what the system may say.
  public func release() throws(WeirError) {
    guard log.isOfThisProcess else { return }
    try log.release(calls: configuration.calls)
  }
}

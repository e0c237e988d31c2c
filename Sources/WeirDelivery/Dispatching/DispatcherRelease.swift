// Dispatcher, release: allows the writer to remove events that other processes delivered.

public import Weir

extension Dispatcher {
  /// Tells the log which events every provider has received, including providers of other processes.
  /// `Tracker.Configuration.removeDelivered` may then remove the segments of these events.
  ///
  /// A dispatcher does this itself whenever one of its own providers makes progress. If `weir deliver` or another
  /// process does all the delivery, call this from time to time. Without a tracker, this does nothing: only the writer
  /// removes segments. Lists `cursors`, and reads each cursor. Throws the errors of the system.
  public func release() throws(WeirError) {
    guard log.isOfThisProcess else { return }
    try log.release(calls: configuration.calls)
  }
}

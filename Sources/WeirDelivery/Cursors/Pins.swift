// Pins: what of a log somebody has yet to be given.

import Weir

/// The cursors of all providers of a log, in whatever process they are delivered to.
///
/// A provider that is known by its cursor only, because the program that delivered to it is not running, pins the
/// events from there on as any other does: it may be added again. ``Dispatcher/remove(_:)`` makes the log forget one.
/// Names with a dot are the log's own and pin nothing.
struct Pins {
  /// The position of each cursor; 0 for one that can't be read.
  private(set) var positions: [String: Offset] = [:]

  /// The least position; nil if there is no cursor.
  var least: Offset? { positions.values.min() }

  /// Reads the cursors of the log in `directory`. A directory without cursors has none.
  init(_ directory: String, calls: SystemCalls) throws(WeirError) {
    for name in try Self.names(directory, calls: calls) {
      do throws(WeirError) {
        switch try Cursor.read(name, of: directory, calls: calls) {
        case .nothing: continue
        case .position(let position): positions[name] = position.offset
        case .damaged: positions[name] = 0
        }
      } catch {
        // What can't be read may lie anywhere.
        positions[name] = 0
      }
    }
  }

  /// The names of the providers that have a cursor in the log in `directory`, in order.
  static func names(_ directory: String, calls: SystemCalls) throws(WeirError) -> [String] {
    let log = try calls.openDirectory(directory)
    return try calls.names(in: Cursor.directoryName, of: log).filter(Cursor.isProviderName).sorted()
  }
}

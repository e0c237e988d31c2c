// Pins: the positions from which a log must be kept.

package import Weir

/// The cursors of all providers of a log, in any process.
///
/// A provider that is known only from its cursor, because its program is not running, pins the events after the cursor
/// like any other provider: the provider may be added again. ``Dispatcher/remove(_:)`` deletes a provider's cursor.
/// Names with a dot are the log's own, and pin nothing.
package struct Pins {
  /// The position of each cursor; 0 for a cursor that can't be read.
  package private(set) var positions: [String: Offset] = [:]

  /// The least position, or `nil` if there is no cursor.
  package var least: Offset? { positions.values.min() }

  /// Reads the cursors of the log in `directory`. Without a directory of cursors, there are none.
  package init(_ directory: String, calls: SystemCalls) throws(WeirError) {
    for name in try Self.names(directory, calls: calls) {
      do throws(WeirError) {
        switch try Cursor.read(name, of: directory, calls: calls) {
        case .nothing: continue
        case .position(let position): positions[name] = position.offset
        case .damaged: positions[name] = 0
        }
      } catch {
        // A cursor that can't be read may be anywhere.
        positions[name] = 0
      }
    }
  }

  /// Returns the sorted names of the providers that have cursors in the log in `directory`.
  static func names(_ directory: String, calls: SystemCalls) throws(WeirError) -> [String] {
    let log = try calls.openDirectory(directory)
    return try calls.names(in: Cursor.directoryName, of: log).filter(Cursor.isProviderName).sorted()
  }
}

// EventSource: where the events of a side come from.

import Weir

/// The events of one side: a log, or a file.
protocol EventSource: Sendable {
  /// A piece of the side that one thread reads.
  associatedtype Part: Sendable

  /// Whether events may have an id that another program gave.
  var hasForeignIDs: Bool { get }

  /// Pieces of about the same size, in order, at most so many.
  func parts(_ count: Int) throws(WeirError) -> [Part]

  /// Reads a part. `body` gets each event and its place, in order; places grow along the side. Returns how many lines,
  /// or damaged stretches of a log, could not be read.
  func read(_ part: Part, _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void) throws(WeirError) -> UInt64

  /// Reads events at places, in rising order. `body` gets each of them that is still there, in this order.
  func read(at places: [UInt64], _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void) throws(WeirError)
}

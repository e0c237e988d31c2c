// ComparedEvent: an event of either side, in one shape.

import Weir

/// An event as it is compared, whichever side it is from.
struct ComparedEvent: Sendable {
  var name: String
  var user: String?
  /// The time of the event, in nanoseconds since 1970.
  var time: Int64
  /// The time at which the control had the event, if it says so.
  var arrival: Int64?
  /// Weir's id, if the side has it.
  var id: EventID?
  /// The id that another program gave.
  var foreignID: String?
  var fields: FieldObject
  /// The fields whose values are sensitive, as far as the side says.
  var sensitive: Set<String> = []
  /// Why the control did not pass the event on, if it says so.
  var outcome: String?
}

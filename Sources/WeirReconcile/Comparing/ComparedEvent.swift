// ComparedEvent: an event of either side, in one shape.

import Weir

/// An event as it is compared, whichever side it is from.
struct ComparedEvent: Sendable {
  var name: String
  var user: String?
  /// The time of the event, in nanoseconds since 1970.
  var time: Int64
  /// Whether the time was given without a zone.
  var isZoneless = false
  /// The time at which the control had the event, if it says so.
  var arrival: Int64?
  /// Weir's id, if the side has it.
  var id: EventID?
  /// The id that another program gave.
  var foreignID: String?
  var fields: FieldObject
  /// The fields whose values are sensitive, as far as the side says.
  var sensitive: Set<String> = []
  /// Why the side did not pass the event on: the control's outcome, or that the plan withholds the event.
  var outcome: String?
}

extension ComparedEvent {
  /// The field in which a control carries Weir's id.
  static let idField = "weir_id"
  /// The field in which a control says why it did not pass an event on.
  static let outcomeField = "weir_outcome"

  /// Takes what a control's event says in its fields of the event that it stands for.
  mutating func takeCarried() {
    id = nil
    if case .string(let text)? = fields[Self.idField] { id = EventID(text) }
    if case .string(let text)? = fields[Self.outcomeField] { outcome = text }
    fields = FieldObject(fields.filter { $0.name != Self.idField && $0.name != Self.outcomeField })
  }
}

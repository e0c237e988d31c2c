// EventMark: what matching asks of an event, in 64 bytes: millions of them are sorted and kept on disk.

/// A summary of one event of one side.
///
/// Identities are hashes of 64 bits. That two of 10^7 events on each side are taken for one another happens in five of
/// a million runs; the comparison of fields then says that they differ.
struct EventMark: Hashable, Sendable, BitwiseCopyable {
  /// Weir's id; 0 for none.
  var id: UInt64 = 0
  /// The id that another program gave; 0 for none.
  var foreignID: UInt64 = 0
  /// Name, user and the chosen fields.
  var key: UInt64 = 0
  /// All that is compared.
  var content: UInt64 = 0
  /// In whose order the events of a side are compared: a user, or a lane.
  var sequence: UInt64 = 0
  /// The time of the event, in nanoseconds since 1970.
  var time: Int64 = 0
  /// The place of the event on its side. Grows along the side.
  var place: UInt64 = 0
  /// How much later the control had the event, in milliseconds; 0 if the control does not say.
  var delay: Int32 = 0
  /// The number of the event's name.
  var name: UInt16 = 0
  /// The number of the side's reason not to pass the event on; 0 for none.
  var outcome: UInt16 = 0

  /// What the events of a group have in common.
  func identity(by way: MatchWay) -> UInt64 {
    switch way {
    case .id: id
    case .foreignID: foreignID
    case .content: key
    }
  }
}

/// How two events are found to be the same, in the order in which the ways are tried.
public enum MatchWay: String, Hashable, Sendable, CaseIterable {
  /// The control carried Weir's id.
  case id
  /// Both sides carry an id that another program gave.
  case foreignID = "foreign_id"
  /// Name, user and chosen fields are equal, and the times are near.
  case content

  /// The way's place in the order.
  var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Two events that are the same.
struct MatchedPair: Hashable, Sendable {
  var here: EventMark
  var there: EventMark
  var isIdentical: Bool { here.content == there.content }
}

// FlagNote: the flags of a call's events, as its worker notes them for the events' journeys.

import Weir

/// One flag with one text, and the events of a call that have it: such as `violations`, `currency: mandatory`, and
/// their offsets.
///
/// A contract has few rules, so a call has few notes, whatever the number of its events. Only ids of originals differ
/// from event to event. Events beyond ``maximumNotes`` share one note for each flag, without the text.
struct FlagNote: Hashable, Sendable {
  /// The maximum number of notes with a text for one call.
  static let maximumNotes = 64

  /// The flag: `violations`, `defaulted` or `duplicate_of`.
  var flag: String
  /// The text: field and rule, field, or id. Empty if it was not noted.
  var text: String
  /// The offsets of the events.
  var at: OffsetRanges

  /// Returns the notes of the events that are in their first call, in the order in which the flags appear. Costs
  /// nothing for events without flags.
  static func notes(of batch: [HeldEvent]) -> [FlagNote] {
    struct Key: Hashable {
      var flag: String
      var text: String
    }
    var keys: [Key] = []
    var offsets: [Key: [Offset]] = [:]
    for index in batch.indices where batch[index].attempts == 1 && batch[index].prepared.hasFlags {
      let event = batch[index]
      for member in event.prepared.flagTexts() {
        guard case .array(let texts) = member.value else { continue }
        for case .string(let text) in texts {
          var key = Key(flag: member.name, text: text.inOneLine(of: PreparedEvent.annotationBytes))
          if offsets[key] == nil, keys.count >= maximumNotes { key.text = "" }
          if offsets[key] == nil { keys.append(key) }
          offsets[key, default: []].append(event.offset)
        }
      }
    }
    return keys.map { FlagNote(flag: $0.flag, text: $0.text, at: OffsetRanges(offsets[$0] ?? [])) }
  }
}

// EventFilter: which events of a log somebody wants to see.

import Weir
import WeirContracts
import WeirDelivery

/// A filter of events, from a text such as `name:checkout.* total>=100 -user:u7`. The guide *Monitor* has the language.
///
/// All terms must hold. What is compared is what is shown: of a sensitive value that is replaced, only the replacement
/// can be found, so nobody finds out the value by asking for it.
struct EventFilter: Hashable, Sendable {
  /// The text that the filter was made of.
  let text: String
  /// The offsets that are looked at.
  private(set) var offsets: ClosedRange<Offset> = 0...Offset.max
  /// The times of capture that match, the second one excluded.
  private var since: Timestamp?
  private var until: Timestamp?
  private var terms: [FilterTerm]

  /// The filter that every event matches.
  init() {
    text = ""
    terms = []
  }

  /// Reads a filter. Throws a ``FilterError`` that says which term is wrong, and what to write in its place.
  init(_ text: String) throws(FilterError) {
    self.text = text
    terms = []
    for word in try FilterWord.words(of: text) {
      switch try FilterTerm.part(word) {
      case .term(let term): terms.append(term)
      case .from(let offset): offsets = Swift.max(offsets.lowerBound, offset)...Offset.max
      case .to(let offset): last = Swift.min(last ?? .max, offset)
      case .since(let time): since = Swift.max(since ?? time, time)
      case .until(let time): until = Swift.min(until ?? time, time)
      }
    }
    guard let last else { return }
    guard last >= offsets.lowerBound else {
      throw FilterError("to:\(last) is below from:\(offsets.lowerBound), so no event matches; correct one of them")
    }
    offsets = offsets.lowerBound...last
  }

  private var last: Offset?

  /// Whether every event matches.
  var isEmpty: Bool { terms.isEmpty && since == nil && until == nil && offsets == 0...Offset.max }

  /// Whether the filter asks for states of delivery or for flags.
  var needsStates: Bool { terms.contains(where: \.needsStates) }

  /// Whether ``mayMatch(_:)`` alone decides.
  var isDecidedEncoded: Bool {
    terms.allSatisfy { if case .name = $0.test { true } else { false } }
  }

  /// Whether an event can match, by what costs nothing to look at. `false` is certain.
  func mayMatch(_ event: EncodedEvent) -> Bool {
    guard offsets.contains(event.offset) else { return false }
    if let since, event.time < since { return false }
    if let until, event.time >= until { return false }
    return terms.allSatisfy { term in
      guard case .name(let patterns) = term.test else { return true }
      return patterns.contains { $0.matches(event.name) } != term.isNegated
    }
  }

  /// Whether an event matches, which ``mayMatch(_:)`` did not rule out.
  ///
  /// - Parameters:
  ///   - event: the event as the reader is shown it: redacted, unless the reader may see sensitive values.
  ///   - found: the event's flags and states; asked only if ``needsStates`` is true.
  func matches(_ event: StoredEvent, _ found: () -> EventFindings) -> Bool {
    terms.allSatisfy { $0.test.matches(event, found) != $0.isNegated }
  }

  /// Whether what was found about an event fits the terms that ask for states and flags.
  func matches(_ found: EventFindings) -> Bool {
    terms.filter(\.needsStates).allSatisfy { $0.test.matches(found) != $0.isNegated }
  }

  /// The same filter, for the events of a range alone; `nil` if it looks at none of them.
  func limited(to range: ClosedRange<Offset>) -> EventFilter? {
    guard offsets.overlaps(range) else { return nil }
    var limited = self
    limited.offsets = offsets.clamped(to: range)
    return limited
  }
}

/// What was found about an event, beside the event itself.
struct EventFindings: Sendable {
  /// The event's flags.
  var flags: Set<EventFlag> = []
  /// The names of providers, and the event's state at each of them.
  var states: [(provider: String, state: DeliveryStates.State)] = []
}

/// A mark on an event in a list.
enum EventFlag: String, Hashable, Sendable, CaseIterable {
  /// The event violates its contract.
  case violating
  /// A field was missing, and a provider got the contract's default in its place.
  case defaulted
  /// The event has the same content as one before.
  case duplicate
  /// The log's own word about captures that were refused, or about offsets without events.
  case gap
}

/// A filter that can't be read.
struct FilterError: Error, Hashable, Sendable {
  /// What is wrong, where, and what to do.
  let message: String

  init(_ message: String) { self.message = message }
}

// FilterTerm: one condition of a filter.

import Weir
import WeirContracts
import WeirDelivery
import WeirJSON

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A condition, or its opposite.
struct FilterTerm: Hashable, Sendable {
  /// What is asked of an event.
  enum Test: Hashable, Sendable {
    /// A text anywhere, in lower case.
    case text(String)
    case name([FilterPattern])
    case field(FieldPath, Comparison, FilterOperand)
    case user([FilterPattern])
    case view([FilterPattern])
    case kind(EventKind)
    case flag(EventFlag)
    /// A state at a provider, or at any if the provider is `nil`.
    case state(provider: String?, DeliveryStates.State)
  }

  /// How a field's value is compared.
  enum Comparison: String, Hashable, Sendable, CaseIterable {
    // In the order in which they are looked for: the longer ones first.
    case notEqual = "!="
    case lessOrEqual = "<="
    case greaterOrEqual = ">="
    case equal = "="
    case less = "<"
    case greater = ">"
  }

  var isNegated: Bool
  var test: Test

  var needsStates: Bool {
    switch test {
    // A gap is the event's own.
    case .flag(let flag): flag != .gap
    case .state: true
    default: false
    }
  }
}

extension FilterTerm.Test {
  func matches(_ event: StoredEvent, _ found: () -> EventFindings) -> Bool {
    switch self {
    case .text(let text): event.contains(folded: text)
    case .name(let patterns): patterns.contains { $0.matches(event.name) }
    case .field(let path, let comparison, let operand):
      // A field that an event lacks is not equal to anything, and different from everything.
      if comparison == .notEqual {
        !event.values(at: path).contains { operand.matches($0, .equal) }
      } else {
        event.values(at: path).contains { operand.matches($0, comparison) }
      }
    case .user(let patterns): event.context.user.map { user in patterns.contains { $0.matches(user.id) } } ?? false
    case .view(let patterns):
      event.context.view.map { view in patterns.contains { $0.matches(view.name) || $0.matches(view.id) } } ?? false
    case .kind(let kind): event.kind == kind
    case .flag(.gap): event.isNotice
    case .flag, .state: matches(found())
    }
  }

  /// Whether what was found about an event fits; `true` for a test that does not ask for it.
  func matches(_ found: EventFindings) -> Bool {
    switch self {
    case .flag(let flag): found.flags.contains(flag)
    case .state(let provider, let state):
      found.states.contains { $0.state == state && (provider == nil || $0.provider == provider) }
    default: true
    }
  }
}

/// A text in which `*` stands for any characters.
struct FilterPattern: Hashable, Sendable {
  private let pieces: [String]

  init(_ text: String) {
    pieces = text.split(separator: "*", omittingEmptySubsequences: false).map(String.init)
  }

  /// Whether the pattern has no `*`.
  var isPlain: Bool { pieces.count == 1 }

  /// The first piece must begin the text, and the last must end it. The pieces between are searched from front to back,
  /// each at the first place that fits, which leaves most for the next.
  func matches(_ text: String) -> Bool {
    guard let first = pieces.first, let last = pieces.last else { return false }
    if isPlain { return text.utf8.elementsEqual(first.utf8) }
    guard text.utf8.starts(with: first.utf8), text.utf8.count >= first.utf8.count + last.utf8.count,
      text.utf8.suffix(last.utf8.count).elementsEqual(last.utf8)
    else { return false }
    var rest = Array(text.utf8.dropFirst(first.utf8.count).dropLast(last.utf8.count))[...]
    for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
      let bytes = Array(piece.utf8)
      guard let place = rest.firstIndex(ofRun: bytes) else { return false }
      rest = rest[(place + bytes.count)...]
    }
    return true
  }
}

/// What a field's value is compared with.
struct FilterOperand: Hashable, Sendable {
  private let text: String
  private let pattern: FilterPattern
  private let number: FieldValue?
  private let time: Timestamp?

  init(_ text: String) {
    self.text = text
    pattern = FilterPattern(text)
    number = Int64(text).map { .int($0) } ?? UInt64(text).map { .uint($0) } ?? Double(text).map { .double($0) }
    time = Timestamp(text: text, form: .strict)
  }

  /// Whether a value compares in this way. An array does if one of its values does.
  func matches(_ value: FieldValue, _ comparison: FilterTerm.Comparison) -> Bool {
    switch value {
    case .array(let values): return values.contains { matches($0, comparison) }
    case .object: return false
    case .null: return comparison == .equal && text == "null"
    case .int, .uint, .float, .double:
      guard let number, let left = ExactNumber(value), let right = ExactNumber(number) else { return false }
      return Self.compare(comparison, isLess: left < right, isEqual: left == right, isGreater: right < left)
    case .date(let date):
      guard let time else { return comparison == .equal && pattern.matches(Self.plain(value)) }
      let left = date.timeIntervalSince1970
      let right = Double(time.nanosecondsSince1970) / 1e9
      return Self.compare(comparison, isLess: left < right, isEqual: left == right, isGreater: left > right)
    case .bool, .string, .bytes, .uuid:
      let left = Self.plain(value)
      if comparison == .equal { return pattern.matches(left) }
      return Self.compare(comparison, isLess: left < text, isEqual: left == text, isGreater: left > text)
    }
  }

  private static func compare(
    _ comparison: FilterTerm.Comparison, isLess: Bool, isEqual: Bool, isGreater: Bool
  ) -> Bool {
    switch comparison {
    case .equal: isEqual
    case .notEqual: !isEqual
    case .less: isLess
    case .lessOrEqual: isLess || isEqual
    case .greater: isGreater
    case .greaterOrEqual: isGreater || isEqual
    }
  }

  /// The value as it is shown, without quotation marks.
  private static func plain(_ value: FieldValue) -> String {
    if case .string(let text) = value { return text }
    var bytes: [UInt8] = []
    JSONText.append(value, to: &bytes)
    let text = String(decoding: bytes, as: UTF8.self)
    return text.hasPrefix("\"") ? String(text.dropFirst().dropLast()) : text
  }
}

// MARK: Looking into events

extension StoredEvent {
  /// The name of the field that stands for all that is bound around an event, and for the global fields.
  private static let contextField = "context"

  /// Returns the values at a path of the fields, or of the context if the path begins with `context`, as in
  /// `context.app`.
  fileprivate func values(at path: FieldPath) -> [FieldValue] {
    let found = Self.values(at: path.steps[...], in: .object(fields))
    guard found.isEmpty, path.steps.count > 1, path.steps[0] == .member(Self.contextField) else { return found }
    let bound = Self.values(at: path.steps.dropFirst(), in: .object(context.fields))
    return bound.isEmpty ? Self.values(at: path.steps.dropFirst(), in: .object(context.globals)) : bound
  }

  private static func values(at steps: ArraySlice<FieldPath.Step>, in value: FieldValue) -> [FieldValue] {
    guard let step = steps.first else { return [value] }
    switch (step, value) {
    case (.member(let name), .object(let object)):
      return object[name].map { values(at: steps.dropFirst(), in: $0) } ?? []
    // As in a contract, but the brackets may be left out.
    case (.member, .array(let values)): return values.flatMap { self.values(at: steps, in: $0) }
    case (.element, .array(let values)): return values.flatMap { self.values(at: steps.dropFirst(), in: $0) }
    default: return []
    }
  }

  /// Whether a text, in lower case, occurs in the name, the user, the view, or a name or value of fields and context.
  fileprivate func contains(folded text: String) -> Bool {
    if name.contains(folded: text) || fields.contains(folded: text) || context.globals.contains(folded: text)
      || context.fields.contains(folded: text)
    {
      return true
    }
    if let user = context.user, user.id.contains(folded: text) || user.traits.contains(folded: text) { return true }
    guard let view = context.view else { return false }
    return view.name.contains(folded: text) || view.id.contains(folded: text)
  }
}

extension FieldObject {
  fileprivate func contains(folded text: String) -> Bool {
    contains { $0.name.contains(folded: text) || $0.value.contains(folded: text) }
  }
}

extension FieldValue {
  fileprivate func contains(folded text: String) -> Bool {
    switch self {
    case .string(let value): return value.contains(folded: text)
    case .array(let values): return values.contains { $0.contains(folded: text) }
    case .object(let object): return object.contains(folded: text)
    case .null, .bytes: return false
    default:
      var bytes: [UInt8] = []
      JSONText.append(self, to: &bytes)
      return String(decoding: bytes, as: UTF8.self).contains(folded: text)
    }
  }
}

extension String {
  /// Whether a text in lower case occurs in this text, upper and lower case alike.
  fileprivate func contains(folded text: String) -> Bool {
    Array(lowercased().utf8)[...].firstIndex(ofRun: Array(text.utf8)) != nil
  }
}

extension ArraySlice<UInt8> {
  /// Returns the place where these bytes first occur, one after another. Looks at each byte at most twice, whatever the
  /// bytes are: the search of Knuth, Morris and Pratt (1977).
  fileprivate func firstIndex(ofRun run: [UInt8]) -> Index? {
    guard let first = run.first else { return startIndex }
    guard var place = firstIndex(of: first) else { return nil }
    // For each prefix of the run, how long the longest of its proper ends is that the run begins with.
    var ends = [0]
    for byte in run.dropFirst() {
      var length = ends[ends.count - 1]
      while length > 0, run[length] != byte { length = ends[length - 1] }
      ends.append(run[length] == byte ? length + 1 : 0)
    }
    var matched = 0
    while place < endIndex {
      while matched > 0, run[matched] != self[place] { matched = ends[matched - 1] }
      if run[matched] == self[place] { matched += 1 }
      place += 1
      if matched == run.count { return place - matched }
    }
    return nil
  }
}

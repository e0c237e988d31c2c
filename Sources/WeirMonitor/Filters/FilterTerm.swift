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
    case name([TextPattern])
    case field(FieldPath, Comparison, FilterOperand)
    case user([TextPattern])
    case view([TextPattern])
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

/// What a field's value is compared with.
struct FilterOperand: Hashable, Sendable {
  private let text: String
  private let pattern: TextPattern
  private let number: FieldValue?
  private let time: Timestamp?

  init(_ text: String) {
    self.text = text
    pattern = TextPattern(text)
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
      guard let number, let left = ExactNumber(Self.shown(value)), let right = ExactNumber(number) else { return false }
      return Self.compare(comparison, isLess: left < right, isEqual: left == right, isGreater: right < left)
    case .date:
      guard let time else { return comparison == .equal && pattern.matches(Self.plain(value)) }
      // As its text says: a date's seconds are no whole number of nanoseconds.
      let left = Timestamp(text: Self.plain(value), form: .strict)?.nanosecondsSince1970
      guard let left else { return false }
      let right = time.nanosecondsSince1970
      return Self.compare(comparison, isLess: left < right, isEqual: left == right, isGreater: left > right)
    case .bool, .string, .bytes, .uuid:
      let left = Self.plain(value)
      if comparison == .equal { return pattern.matches(left) }
      return Self.compare(comparison, isLess: left < text, isEqual: left == text, isGreater: left > text)
    }
  }

  /// The number that is shown: a `Float` is the number that its shortest text says.
  private static func shown(_ value: FieldValue) -> FieldValue {
    if case .float(let number) = value, number.isFinite {
      .double(Double("\(number)") ?? Double(number))
    } else {
      value
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

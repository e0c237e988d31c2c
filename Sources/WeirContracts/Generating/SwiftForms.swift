// SwiftForms: which Swift type each field of a contract has, and the names of the protocols and types.

import Weir

/// The Swift type of a value.
indirect enum SwiftShape: Hashable {
  case any
  case bool
  case integer
  /// An integer beyond the range of `Int`.
  case unsigned
  case number
  case text
  case bytes
  case uuid
  case date
  /// An object that may have any fields.
  case object
  case list(SwiftShape)
  /// One of these texts.
  case choice([String])
  case structure([SwiftMember])

  /// The word that tells forms of one field apart.
  var word: String {
    switch self {
    case .any: "Any"
    case .bool: "Bool"
    case .integer: "Integer"
    case .unsigned: "Unsigned"
    case .number: "Number"
    case .text: "Text"
    case .bytes: "Bytes"
    case .uuid: "UUID"
    case .date: "Date"
    case .object: "Object"
    case .list: "List"
    case .choice: "Choice"
    case .structure: "Structure"
    }
  }

  /// What a declared type is called after its field: the type of a list's values is not the type of the field.
  var elementSuffix: String {
    if case .list(let element) = self { return "Element" + element.elementSuffix }
    return ""
  }

  /// Calls `body` with each shape within this one, and this one.
  func visit(_ body: (SwiftShape) -> Void) {
    body(self)
    switch self {
    case .list(let element): element.visit(body)
    case .structure(let members): for member in members { member.shape.visit(body) }
    default: break
    }
  }
}

/// A field of an event or of a nested object.
struct SwiftMember: Hashable {
  var name: String
  var shape: SwiftShape
  var isOptional: Bool
}

extension SwiftMember {
  init(_ field: CompiledField) {
    name = field.name
    shape = SwiftShape(field)
    isOptional = !field.isMandatory
  }
}

extension SwiftShape {
  init(_ field: CompiledField) {
    switch field.type {
    case .any: self = .any
    case .bool: self = .bool
    case .integer: self = Self.isLarge(field.rule) ? .unsigned : .integer
    case .number: self = .number
    case .string: self = Self.choice(field.rule?.allowedValues) ?? .text
    case .bytes: self = .bytes
    case .uuid: self = .uuid
    case .date: self = .date
    case .array: self = .list(field.element.map(SwiftShape.init) ?? .any)
    case .object: self = field.members.map { .structure($0.fields.map(SwiftMember.init)) } ?? .object
    }
  }

  private static func choice(_ values: [FieldValue]?) -> SwiftShape? {
    guard let values else { return nil }
    let texts = values.compactMap { value -> String? in if case .string(let text) = value { text } else { nil } }
    // Texts that Swift compares as equal can't be the raw values of one enum.
    return texts.count == values.count && Set(texts).count == texts.count ? .choice(texts) : nil
  }

  /// Whether the rule names an integer that only `UInt64` can hold, and none that only `Int` can hold.
  private static func isLarge(_ rule: FieldRule?) -> Bool {
    let bounds = [rule?.range?.lower?.number, rule?.range?.upper?.number, rule?.defaultValue].compactMap(\.self)
    let numbers = (rule?.allowedValues ?? []) + bounds
    func isNegative(_ number: FieldValue) -> Bool { if case .int(let number) = number { number < 0 } else { false } }
    func isBeyond(_ number: FieldValue) -> Bool {
      if case .uint(let number) = number { number > UInt64(Int64.max) } else { false }
    }
    let mayBeNegative = rule?.allowedValues == nil && rule?.range?.lower == nil
    return numbers.contains(where: isBeyond) && !mayBeNegative && !numbers.contains(where: isNegative)
  }
}

/// The fields of all events, and the names that the protocols and types of the fields have.
struct SwiftForms {
  /// One form of a field: events may give a field of one name different types.
  struct Form {
    var member: SwiftMember
    /// The name of the protocol.
    var protocolName: String
    /// The name of the type, if the type is declared in the generated code.
    var typeName: String
    /// The events that have the field in this form.
    var events: [String]
  }

  /// In the order of the contract.
  private(set) var forms: [Form] = []
  private var positions: [SwiftMember: Int] = [:]
  /// The names of the events' structures.
  private(set) var structures: [String: String] = [:]
  /// The names of the properties: a field has the same name in every event.
  private(set) var properties: [String: String] = [:]

  init(_ events: [CompiledEvent]) {
    for event in events {
      for field in event.members.fields { note(SwiftMember(field), in: event.rule.name) }
    }
    properties = SwiftNames.distinct(Set(forms.map(\.member.name)).sorted(), SwiftNames.property)
    let suffixes = forms.map(suffix)
    let keys = forms.indices.map(String.init)
    func parts(_ key: String) -> (field: String, suffix: (shape: String, optional: String)) {
      let index = Int(key) ?? 0
      return (SwiftNames.type(forms[index].member.name), suffixes[index])
    }
    // The key of a name is the field and the form, so that a checksum depends on nothing else.
    let labels = forms.indices.map { forms[$0].member.name + "\0" + suffixes[$0].shape + "\0" + suffixes[$0].optional }
    let byLabel = Dictionary(zip(labels, keys), uniquingKeysWith: { first, _ in first })
    let protocols = SwiftNames.distinct(labels) { label in
      let (field, suffix) = parts(byLabel[label] ?? "")
      return "\(Self.prefix(field))\(field)\(suffix.shape)\(suffix.optional)"
    }
    structures = SwiftNames.distinct(
      events.map(\.rule.name), taken: SwiftNames.reserved.union(protocols.values), suffix: "Event", SwiftNames.type)
    // A mandatory and an optional form of one shape share the type.
    let typeLabels = forms.indices.map { forms[$0].member.name + "\0" + suffixes[$0].shape }
    let byTypeLabel = Dictionary(zip(typeLabels, keys), uniquingKeysWith: { first, _ in first })
    let types = SwiftNames.distinct(
      byTypeLabel.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) },
      taken: SwiftNames.reserved.union(protocols.values).union(structures.values), suffix: "Value"
    ) { label in
      let (field, suffix) = parts(byTypeLabel[label] ?? "")
      return field + suffix.shape + forms[Int(byTypeLabel[label] ?? "") ?? 0].member.shape.elementSuffix
    }
    for index in forms.indices {
      forms[index].protocolName = protocols[labels[index]] ?? ""
      forms[index].typeName = types[typeLabels[index]] ?? ""
    }
  }

  /// A field such as `hasNewMessages` has the word already.
  private static func prefix(_ field: String) -> String {
    field.hasPrefix("Has") && field.dropFirst(3).first?.isUppercase == true ? "" : "Has"
  }

  func form(_ member: SwiftMember) -> Form? { positions[member].map { forms[$0] } }

  private mutating func note(_ member: SwiftMember, in event: String) {
    if let position = positions[member] {
      forms[position].events.append(event)
    } else {
      positions[member] = forms.count
      forms.append(Form(member: member, protocolName: "", typeName: "", events: [event]))
    }
  }

  /// Returns what tells the form apart from the other forms of the field: nothing if there is one form, otherwise the
  /// word of the type. Forms with the same word are told apart by the first event that has the form.
  private func suffix(_ form: Form) -> (shape: String, optional: String) {
    let others = forms.filter { $0.member.name == form.member.name }
    let shapes = Set(others.map(\.member.shape))
    let same = others.filter { $0.member.shape == form.member.shape }
    let optional = form.member.isOptional && same.count > 1 ? "Optional" : ""
    if shapes.count == 1 { return ("", optional) }
    let sameWord = shapes.filter { $0.word == form.member.shape.word }
    if sameWord.count == 1 { return (form.member.shape.word, optional) }
    let first = same.first?.events.first ?? ""
    return (form.member.shape.word + "In" + SwiftNames.type(first), optional)
  }
}

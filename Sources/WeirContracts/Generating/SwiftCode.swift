// SwiftCode: a contract as Swift code: a protocol for each kind of event and for each field, a structure for each
// event.

import Weir

/// Who may use the generated code.
package enum SwiftAccess: String, CaseIterable, Sendable {
  case `internal`
  case package
  case `public`

  /// The word before a declaration.
  fileprivate var word: String { self == .internal ? "" : rawValue + " " }
}

extension CompiledContract {
  /// Returns the contract as Swift code. Equal contracts give equal code.
  ///
  /// - Parameters:
  ///   - access: Who may use the code.
  ///   - command: The command that made the code, for the first line.
  package func swiftCode(access: SwiftAccess = .internal, command: String) -> String {
    var writing = SwiftWriting(self, access)
    return writing.file(madeBy: command)
  }
}

private struct SwiftWriting {
  private let compiled: CompiledContract
  private let events: [CompiledEvent]
  private let forms: SwiftForms
  private let access: String
  private var lines: [String] = []

  init(_ compiled: CompiledContract, _ access: SwiftAccess) {
    self.compiled = compiled
    events = compiled.contract.events.compactMap { compiled.event($0.name) }
    forms = SwiftForms(events)
    self.access = access.word
  }

  mutating func file(madeBy command: String) -> String {
    let contract = compiled.contract
    let source = Self.oneLine("\(contract.name) \(contract.version)")
    line("// Made by \(Self.oneLine(command)) from the contract \(source).")
    line("// Changes in this file are lost.")
    line("// swift-format-ignore-file")
    line("")
    imports()
    kinds()
    for form in forms.forms { fieldProtocol(form) }
    types()
    for event in events { structure(event) }
    sensitiveFields()
    return lines.joined(separator: "\n") + "\n"
  }

  private var needsFoundation: Bool {
    var needs = false
    for form in forms.forms {
      form.member.shape.visit { if $0 == .uuid || $0 == .date { needs = true } }
    }
    return needs
  }

  /// Without the feature, a plain import beside one with the word `package` is ambiguous.
  private mutating func imports() {
    if access == "package " {
      line("#if hasFeature(InternalImportsByDefault)")
      lines += modules("package ").map { "  " + $0 }
      line("#else")
      lines += modules("").map { "  " + $0 }
      line("#endif")
    } else {
      lines += modules(access)
    }
  }

  private func modules(_ word: String) -> [String] {
    let foundation = [
      "#if canImport(FoundationEssentials)", "  \(word)import FoundationEssentials", "#else",
      "  \(word)import Foundation", "#endif",
    ]
    return (needsFoundation ? foundation : []) + ["\(word)import Weir"]
  }

  // MARK: Kinds

  private mutating func kinds() {
    let sensitive = sensitivePaths.isEmpty ? "" : ", sensitive: sensitiveFields(of: Self.self)"
    func protocolText(_ name: String, _ base: String, _ comment: String, _ kind: EventKind?)
      -> [String]
    {
      let argument = kind.map { ", kind: .\(SwiftKind.name(of: $0))" } ?? ""
      return [
        "", "/// \(comment)", "\(access)protocol \(name): \(base) {}", "", "extension \(name) {",
        "  \(access)static var eventTypes: [EventType] {",
        "    [EventType(codable: eventName\(argument)\(sensitive))]", "  }", "}",
      ]
    }
    lines += protocolText("TrackedEvent", "Event, Codable", "An event of no particular kind.", nil)
    for kind in EventKind.allCases {
      lines += protocolText(
        SwiftKind.type(of: kind), "TrackedEvent", SwiftKind.comment(of: kind), kind)
    }
  }

  // MARK: Fields

  private mutating func fieldProtocol(_ form: SwiftForms.Form) {
    let member = form.member
    let property = forms.properties[member.name] ?? ""
    line("")
    line("/// An event with the field `\(Self.inComment(member.name))`.")
    if property != member.name {
      line("///")
      line("/// A structure of your own needs the field's name in its coding keys:")
      line(
        "/// `case \(SwiftNames.code(property)) = \(Self.inComment(SwiftLiteral.text(member.name)))`."
      )
    }
    line("\(access)protocol \(form.protocolName) {")
    line("  var \(SwiftNames.code(property)): \(type(member, form.typeName)) { get }")
    line("}")
  }

  /// The types of fields, each once.
  private mutating func types() {
    var done: Set<String> = []
    for form in forms.forms where done.insert(form.typeName).inserted {
      declare(form.member.shape, form.typeName, indentation: "")
    }
  }

  /// Declares the type of a shape, if the shape has no type of Swift's or Weir's.
  private mutating func declare(_ shape: SwiftShape, _ name: String, indentation: String) {
    switch shape {
    case .list(let element): declare(element, name, indentation: indentation)
    case .choice(let values): choice(values, name, indentation)
    case .structure(let members):
      line("")
      line("\(indentation)\(access)struct \(name): Codable, Hashable, Sendable {")
      let names = SwiftNames.distinct(members.map(\.name), SwiftNames.property)
      body(members.map { Property($0) }, names, indentation + "  ")
      line("\(indentation)}")
    default: break
    }
  }

  private mutating func choice(_ values: [String], _ name: String, _ indentation: String) {
    let cases = SwiftNames.distinct(values, SwiftNames.enumCase)
    line("")
    line("\(indentation)\(access)enum \(name): String, CaseIterable, Codable, Hashable, Sendable {")
    for value in values {
      let name = cases[value] ?? ""
      let raw =
        name == value && value.utf8.allSatisfy { $0 < 0x80 } ? "" : " = \(SwiftLiteral.text(value))"
      line("\(indentation)  case \(SwiftNames.code(name))\(raw)")
    }
    line("\(indentation)}")
  }

  private func type(_ member: SwiftMember, _ name: String) -> String {
    type(member.shape, name) + (member.isOptional ? "?" : "")
  }

  private func type(_ shape: SwiftShape, _ name: String) -> String {
    switch shape {
    case .any: "FieldValue"
    case .bool: "Bool"
    case .integer: "Int"
    case .unsigned: "UInt64"
    case .number: "Double"
    case .text: "String"
    case .bytes: "[UInt8]"
    case .uuid: "UUID"
    case .date: "Date"
    case .object: "[String: FieldValue]"
    case .list(let element): "[\(type(element, name))]"
    case .choice, .structure: name
    }
  }

  // MARK: Events

  private mutating func structure(_ event: CompiledEvent) {
    let rule = event.rule
    let members = event.members.fields.map(SwiftMember.init)
    let kind = rule.kind.map(SwiftKind.type) ?? "TrackedEvent"
    let bases = [kind] + members.compactMap { forms.form($0)?.protocolName } + ["Hashable"]
    line("")
    comment(
      rule.description.isEmpty ? "The event `\(Self.inComment(rule.name))`." : rule.description, "")
    if rule.isDeprecated { line("///\n/// Deprecated: the event is going to be removed.") }
    let name = forms.structures[rule.name] ?? ""
    let head = "\(access)struct \(name): \(bases.joined(separator: ", ")) {"
    if head.utf8.count <= 120 {
      line(head)
    } else {
      line("\(access)struct \(name):")
      line(bases.map { "  \($0)" }.joined(separator: ",\n"))
      line("{")
    }
    line("  \(access)static let eventName = \(SwiftLiteral.text(rule.name))")
    let properties = zip(event.members.fields, members).map { field, member in
      Property(member, typeName: forms.form(member)?.typeName, rule: field.rule)
    }
    if !properties.isEmpty { line("") }
    body(properties, forms.properties, "  ")
    line("}")
  }

  /// A property of a structure.
  private struct Property {
    var member: SwiftMember
    /// The name of the type that is declared elsewhere; `nil` for a type within the structure.
    var typeName: String?
    var rule: FieldRule?

    init(_ member: SwiftMember, typeName: String? = nil, rule: FieldRule? = nil) {
      self.member = member
      self.typeName = typeName
      self.rule = rule
    }
  }

  /// The properties, the initialiser, the types within, and the coding keys where the compiler's would be others.
  private mutating func body(
    _ properties: [Property], _ names: [String: String], _ indentation: String
  ) {
    let fields = properties.map(\.member.name)
    let suffixes = Dictionary(
      properties.map { ($0.member.name, $0.member.shape.elementSuffix) },
      uniquingKeysWith: { first, _ in first })
    let nested = SwiftNames.distinct(fields, taken: SwiftNames.reserved, suffix: "Value") {
      SwiftNames.type($0) + (suffixes[$0] ?? "")
    }
    func typeName(_ property: Property) -> String {
      property.typeName ?? nested[property.member.name] ?? ""
    }
    for property in properties {
      if let rule = property.rule {
        comment(rule.description, indentation)
        if rule.isDeprecated {
          line("\(indentation)/// Deprecated: the field is going to be removed.")
        }
      }
      let name = SwiftNames.code(names[property.member.name] ?? "")
      line("\(indentation)\(access)var \(name): \(type(property.member, typeName(property)))")
    }
    initialiser(properties, names, typeName, indentation)
    for property in properties where property.typeName == nil {
      declare(property.member.shape, typeName(property), indentation: indentation)
    }
    guard fields.contains(where: { names[$0] != $0 || !$0.utf8.allSatisfy { $0 < 0x80 } }) else {
      return
    }
    line("")
    line("\(indentation)private enum CodingKeys: String, CodingKey {")
    for field in fields {
      let name = names[field] ?? ""
      let isSame = name == field && field.utf8.allSatisfy { $0 < 0x80 }
      line(
        "\(indentation)  case \(SwiftNames.code(name))\(isSame ? "" : " = \(SwiftLiteral.text(field))")"
      )
    }
    line("\(indentation)}")
  }

  private mutating func initialiser(
    _ properties: [Property], _ names: [String: String], _ typeName: (Property) -> String,
    _ indentation: String
  ) {
    let parameters = properties.map { property in
      let (member, type) = (property.member, typeName(property))
      let value =
        member.isOptional
        ? "nil" : property.rule?.defaultValue.flatMap { SwiftLiteral.value($0, member.shape) }
      let name = SwiftNames.code(names[member.name] ?? "")
      return "\(name): \(self.type(member, type))\(value.map { " = \($0)" } ?? "")"
    }
    line("")
    let head = "\(indentation)\(access)init(\(parameters.joined(separator: ", "))) {"
    if properties.isEmpty { return line(head + "}") }
    if head.utf8.count <= 120 {
      line(head)
    } else {
      line("\(indentation)\(access)init(")
      line(parameters.map { "\(indentation)  \($0)" }.joined(separator: ",\n"))
      line("\(indentation)) {")
    }
    for property in properties {
      let name = SwiftNames.code(names[property.member.name] ?? "")
      line("\(indentation)  self.\(name) = \(name)")
    }
    line("\(indentation)}")
  }

  // MARK: Sensitive fields

  /// The paths of sensitive fields by field, without the marks for arrays.
  private var sensitivePaths: [String: [String]] {
    var paths: [String: Set<String>] = [:]
    for event in events {
      for path in event.sensitiveFields {
        guard case .success(let parsed) = FieldPath.parse(path) else { continue }
        let names = parsed.steps.compactMap { step -> String? in
          if case .member(let name) = step { name } else { nil }
        }
        guard let first = names.first else { continue }
        paths[first, default: []].insert(names.joined(separator: "."))
      }
    }
    return paths.mapValues { $0.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
  }

  private mutating func sensitiveFields() {
    let paths = sensitivePaths
    guard !paths.isEmpty else { return }
    line("")
    line("/// The sensitive fields of a type, by the protocols that the type is composed of.")
    line("private func sensitiveFields(of type: any TrackedEvent.Type) -> [String] {")
    line("  var paths: [String] = []")
    for form in forms.forms {
      guard let found = paths[form.member.name] else { continue }
      let list = found.map(SwiftLiteral.text).joined(separator: ", ")
      line("  if type is any \(form.protocolName).Type { paths += [\(list)] }")
    }
    line("  return paths")
    line("}")
  }

  // MARK: Text

  private mutating func line(_ text: String) { lines.append(text) }

  /// A comment of a declaration, one line for each line of the text.
  private mutating func comment(_ text: String, _ indentation: String) {
    guard !text.isEmpty else { return }
    for part in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      let words = Self.oneLine(String(part)).trimmingSpaces
      line("\(indentation)///\(words.isEmpty ? "" : " " + words)")
    }
  }

  /// Returns the text without characters that would end a comment's line or change how the line is shown.
  private static func oneLine(_ text: String) -> String {
    String(
      String.UnicodeScalarView(text.unicodeScalars.map { SwiftLiteral.isShown($0) ? $0 : " " }))
  }

  private static func inComment(_ text: String) -> String {
    oneLine(text.replacing("`", with: "'"))
  }
}

extension String {
  fileprivate var trimmingSpaces: String {
    let start = drop { $0 == " " }
    return String(start.reversed().drop { $0 == " " }.reversed())
  }
}

/// The kinds of events in the generated code.
private enum SwiftKind {
  static func type(of kind: EventKind) -> String {
    switch kind {
    case .pageView: "PageView"
    case .pageAction: "PageAction"
    case .systemAction: "SystemAction"
    }
  }

  static func name(of kind: EventKind) -> String {
    switch kind {
    case .pageView: "pageView"
    case .pageAction: "pageAction"
    case .systemAction: "systemAction"
    }
  }

  static func comment(of kind: EventKind) -> String {
    switch kind {
    case .pageView: "A page, screen or view was shown."
    case .pageAction: "A user did something in a page, screen or view."
    case .systemAction: "The system did something without a user."
    }
  }
}

// Expansion: the code that @Event writes. It holds no logic: what it calls is in Weir, and tested there.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder

  /// What goes into the type's body.
  func members(of declaration: EventDeclaration) -> [DeclSyntax] {
    let access = access(of: declaration)
    // Compiled into the capture, also of another module: the call would cost a third of it.
    let inlining = (declaration.isInlinable ? "@inlinable " : "") + "@inline(__always)"
    let isEnum = declaration.form == .enumeration
    let members = [
      """
      \(access)static var eventName: Swift.String {
        \(literal(declaration.name))
      }
      """,
      """
      \(access)static let eventTypes: [Weir.EventType] = {
      \(eventTypes(declaration))
      }()
      """,
      """
      \(isEnum ? "" : deprecated(declaration))\(inlining)
      \(access)func encode(into encoder: inout Weir.EventEncoder) {
      \(isEnum ? encodeCases(declaration) : encodeStructure(declaration))
      }
      """,
      isEnum ? initializer(declaration, decodeCases(declaration)) : nil,
    ]
    return members.compactMap { $0 }.map { "\(raw: $0)" }
  }

  /// The conformance, with a structure's initialiser. Nothing if there is neither to write.
  func conformance(of declaration: EventDeclaration, type: String, isNew: Bool) -> [ExtensionDeclSyntax] {
    let isEnum = declaration.form == .enumeration
    guard isNew || !isEnum else { return [] }
    let body = isEnum ? "" : indented(initializer(declaration, decodeStructure(declaration))) + "\n"
    let deprecation = declaration.isDeprecated ? "@available(*, deprecated)\n" : ""
    let text: DeclSyntax = """
      \(raw: deprecation)extension \(raw: type)\(raw: isNew ? ": Weir.Event" : "") {
      \(raw: body)}
      """
    return [text.cast(ExtensionDeclSyntax.self)]
  }

  /// Captures come from any thread, also if the type, or all of its module, is isolated to an actor.
  private func access(of declaration: EventDeclaration) -> String {
    (declaration.access.map { $0 + " " } ?? "") + "nonisolated "
  }

  /// A default value stands in it as it was written, so its own names are those that nobody else gives: `stored` and
  /// `types` would take the place of what they mean there.
  private func initializer(_ declaration: EventDeclaration, _ body: String) -> String {
    """
    \(deprecated(declaration))\(access(of: declaration))init?(_ weirStored: Weir.StoredEvent) throws {
      let weirTypes = Self.eventTypes
    \(body)
    }
    """
  }

  /// Reading builds the cases, and touches the properties: in what is deprecated itself that gives no warning. Those
  /// who call it through the protocol, as Weir does, are not warned either.
  private func deprecated(_ declaration: EventDeclaration) -> String {
    declaration.hasDeprecated ? "@available(*, deprecated)\n" : ""
  }

  private func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { "  \($0)" }.joined(separator: "\n")
  }

  private func literal(_ text: String) -> String {
    StringLiteralExprSyntax(content: text).description
  }

  private func literals(_ texts: [String]) -> String {
    "[" + texts.map(literal).joined(separator: ", ") + "]"
  }

  // MARK: Declaration

  /// A function for each type: the compiler takes time that grows with the square of a list of them.
  private func eventTypes(_ declaration: EventDeclaration) -> String {
    let functions = declaration.events.enumerated().map { index, event in
      """
        func type\(index)() -> Weir.EventType {
          \(eventType(event))
        }
      """
    }
    let calls = declaration.events.indices.map { "type\($0)()" }.joined(separator: ", ")
    return functions.joined(separator: "\n") + "\n  return [\(calls)]"
  }

  private func eventType(_ event: EventCase) -> String {
    let fields = event.fields.map { "      \(field($0)),\n" }.joined()
    var arguments = [literal(event.name), fields.isEmpty ? "[]" : "[\n\(fields)    ]"]
    arguments.append("wireID: 0x\(hexadecimal(event.id))")
    if let kind = event.kind { arguments.append("kind: .\(kind)") }
    if !event.formerNames.isEmpty { arguments.append("formerNames: \(literals(event.formerNames))") }
    return "Weir.EventType(\(arguments.joined(separator: ", ")))"
  }

  private func field(_ field: EventField) -> String {
    var arguments = [literal(field.name), "of: (\(field.type)).self"]
    if field.isSensitive { arguments.append("sensitive: true") }
    if !field.formerNames.isEmpty { arguments.append("formerNames: \(literals(field.formerNames))") }
    return "Weir.Field(\(arguments.joined(separator: ", ")))"
  }

  private func hexadecimal(_ id: UInt32) -> String {
    let digits = String(id, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }

  // MARK: Encoding

  private func encodeCases(_ declaration: EventDeclaration) -> String {
    let cases = declaration.events.enumerated().map { index, event in
      // The values are numbered, because a label might be the name of something that the code below needs.
      let values = event.fields.enumerated().map { "\($1.code): let value\($0)" }.joined(separator: ", ")
      let puts = event.fields.indices.map { "\n    encoder.put(value\($0))" }.joined()
      return """
          case .\(event.code)\(values.isEmpty ? "" : "(\(values))"):
            encoder.begin(\(index))\(puts)
        """
    }
    return "  switch self {\n\(cases.joined(separator: "\n"))\n  }"
  }

  private func encodeStructure(_ declaration: EventDeclaration) -> String {
    let puts = declaration.events[0].fields.map { "  encoder.put(self.\($0.code))" }
    return (["  encoder.begin(0)"] + puts).joined(separator: "\n")
  }

  // MARK: Decoding

  private func decodeCases(_ declaration: EventDeclaration) -> String {
    let cases = declaration.events.enumerated().map { index, event in
      let values = event.fields.enumerated().map { position, field in
        "\n      \(field.code): \(value("weirTypes[\(index)].fields[\(position)]", default: field.defaultValue))"
      }
      return """
          case \(index):
            self = .\(event.code)\(values.isEmpty ? "" : "(\(values.joined(separator: ",")))")
        """
    }
    return """
        switch weirStored.index(in: weirTypes) {
      \(cases.joined(separator: "\n"))
        default:
          return nil
        }
      """
  }

  /// A default value is taken from the property, which has it by then: what is written there may mean something else in
  /// an extension. A property with a wrapper can be asked for it only when all others have their values.
  private func decodeStructure(_ declaration: EventDeclaration) -> String {
    let all = declaration.events[0].fields.enumerated().map { (position: $0, field: $1) }
    let plain = all.filter { !$0.field.isWrapped }
    let wrapped = all.filter { $0.field.isWrapped && $0.field.defaultValue == nil }
    let wrappedLast = all.filter { $0.field.isWrapped && $0.field.defaultValue != nil }
    let fields = (plain + wrapped + wrappedLast).flatMap { position, field in
      let name = field.defaultValue.map { _ in "default\(position)" }
      let initial = name.map { "  let \($0) = self.\(field.code)" }
      return [initial, "  self.\(field.code) = \(value("weirTypes[0].fields[\(position)]", default: name))"]
        .compactMap { $0 }
    }
    let start = """
        guard weirStored.index(in: weirTypes) != nil else {
          return nil
        }
      """
    return ([start] + fields).joined(separator: "\n")
  }

  private func value(_ declaration: String, default value: String?) -> String {
    "try weirStored.value(\(declaration)\(value.map { ", default: \($0)" } ?? ""))"
  }
#endif

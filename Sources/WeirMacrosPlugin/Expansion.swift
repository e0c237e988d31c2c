// Expansion: the code that @Event writes. The code contains no logic: it calls functions that are tested in Weir.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder

  /// The members for the type's body.
  func members(of declaration: EventDeclaration) -> [DeclSyntax] {
    let access = access(of: declaration)
    // Inlined into captures, also in other modules: a call would cost a third of the capture.
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

  /// The conformance, and a structure's initialiser. `nil` if there is neither to write.
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

  /// Any thread may capture, even if the type, or its whole module, is isolated to an actor.
  private func access(of declaration: EventDeclaration) -> String {
    (declaration.access.map { $0 + " " } ?? "") + "nonisolated "
  }

  /// The function contains default values as they were written. Its own names are therefore names that nobody else
  /// uses: names like `stored` and `types` could shadow names in a default value.
  private func initializer(_ declaration: EventDeclaration, _ body: String) -> String {
    """
    \(deprecated(declaration))\(access(of: declaration))init?(_ weirStored: Weir.StoredEvent) throws {
      let weirTypes = Self.eventTypes
    \(body)
    }
    """
  }

  /// The decoding code uses deprecated cases and properties. Within a deprecated declaration, the use gives no warning.
  /// Callers through the protocol, such as Weir, get no warning either.
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

  /// One function for each event type: the compiler's time grows with the square of the length of a list of types.
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
      // The values are numbered, because a label may be a name that the code below needs.
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

  /// The default value is read from the property, which has its default value by then, because the written expression
  /// may mean something else in an extension. A property with a wrapper can be read only when all others have their
  /// values.
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

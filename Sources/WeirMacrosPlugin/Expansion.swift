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
      \(inlining)
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
    let text: DeclSyntax = """
      extension \(raw: type)\(raw: isNew ? ": Weir.Event" : "") {
      \(raw: body)}
      """
    return [text.cast(ExtensionDeclSyntax.self)]
  }

  /// Captures come from any thread, also if the type, or all of its module, is isolated to an actor.
  private func access(of declaration: EventDeclaration) -> String {
    (declaration.access.map { $0 + " " } ?? "") + "nonisolated "
  }

  private func initializer(_ declaration: EventDeclaration, _ body: String) -> String {
    """
    \(access(of: declaration))init?(_ stored: Weir.StoredEvent) throws {
      let types = Self.eventTypes
    \(body)
    }
    """
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
        "\n      \(field.code): \(value("types[\(index)].fields[\(position)]", default: field.defaultValue))"
      }
      return """
          case \(index):
            self = .\(event.code)\(values.isEmpty ? "" : "(\(values.joined(separator: ",")))")
        """
    }
    return """
        switch stored.index(in: types) {
      \(cases.joined(separator: "\n"))
        default:
          return nil
        }
      """
  }

  /// A default value is taken from the property, which has it by then: what is written there may mean something else in
  /// an extension.
  private func decodeStructure(_ declaration: EventDeclaration) -> String {
    let fields = declaration.events[0].fields.enumerated().flatMap { position, field in
      let name = field.defaultValue.map { _ in "default\(position)" }
      let initial = name.map { "  let \($0) = self.\(field.code)" }
      return [initial, "  self.\(field.code) = \(value("types[0].fields[\(position)]", default: name))"]
        .compactMap { $0 }
    }
    let start = """
        guard stored.index(in: types) != nil else {
          return nil
        }
      """
    return ([start] + fields).joined(separator: "\n")
  }

  private func value(_ declaration: String, default value: String?) -> String {
    "try stored.value(\(declaration)\(value.map { ", default: \($0)" } ?? ""))"
  }
#endif

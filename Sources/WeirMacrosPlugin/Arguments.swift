// Arguments: the arguments of an attribute. They must be literals, because a macro sees source, not values.

#if Macros
  import SwiftParser
  import SwiftSyntax

  struct Arguments {
    private let expressions: [(label: String?, expression: ExprSyntax)]

    init(_ attribute: AttributeSyntax) {
      guard case .argumentList(let list) = attribute.arguments else {
        expressions = []
        return
      }
      expressions = list.map { ($0.label?.text, $0.expression) }
    }

    var isEmpty: Bool { expressions.isEmpty }

    /// The argument with this label, or without a label; also `nil` if the argument is written as `nil`.
    func expression(_ label: String?) -> ExprSyntax? {
      guard let found = expressions.first(where: { $0.label == label })?.expression else { return nil }
      return found.is(NilLiteralExprSyntax.self) ? nil : found
    }

    func text(_ label: String?, _ faults: inout Faults) -> String? {
      expression(label).flatMap { Self.text($0, &faults) }
    }

    func texts(_ label: String, _ faults: inout Faults) -> [String] {
      elements(label, &faults).compactMap { Self.text($0, &faults) }
    }

    func id(_ label: String, _ faults: inout Faults) -> UInt32? {
      expression(label).flatMap { Self.id($0, &faults) }
    }

    func flag(_ label: String, _ faults: inout Faults) -> Bool {
      guard let expression = expression(label) else { return false }
      guard let literal = expression.as(BooleanLiteralExprSyntax.self) else {
        Self.refuse(expression, "true or false", &faults)
        return false
      }
      return literal.literal.text == "true"
    }

    /// The name of a case of EventKind that is written as `.pageView`.
    func kind(_ faults: inout Faults) -> String? {
      guard let expression = expression("kind") else { return nil }
      guard let name = expression.as(MemberAccessExprSyntax.self)?.declName.baseName.text,
        eventKindNames.contains(name)
      else {
        Self.refuse(expression, eventKindNames.map { ".\($0)" }.joined(separator: ", "), &faults)
        return nil
      }
      return name
    }

    func retired(_ faults: inout Faults) -> [(id: UInt32?, name: String?, text: String)] {
      elements("retired", &faults).compactMap { element in
        if element.is(StringLiteralExprSyntax.self) {
          return Self.text(element, &faults).map { (nil, $0, element.trimmedDescription) }
        }
        return Self.id(element, &faults).map { ($0, nil, element.trimmedDescription) }
      }
    }

    private func elements(_ label: String, _ faults: inout Faults) -> [ExprSyntax] {
      guard let expression = expression(label) else { return [] }
      guard let array = expression.as(ArrayExprSyntax.self) else {
        Self.refuse(expression, "a list of literals in brackets", &faults)
        return []
      }
      return array.elements.map(\.expression)
    }

    private static func text(_ expression: ExprSyntax, _ faults: inout Faults) -> String? {
      guard let text = expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue else {
        refuse(expression, "a text in quotation marks, without interpolation", &faults)
        return nil
      }
      return text
    }

    private static func id(_ expression: ExprSyntax, _ faults: inout Faults) -> UInt32? {
      if let literal = expression.as(IntegerLiteralExprSyntax.self) {
        if let id = literal.representedLiteralValue.flatMap(UInt32.init(exactly:)) { return id }
      } else if expression.as(PrefixOperatorExprSyntax.self)?.expression.is(IntegerLiteralExprSyntax.self) != true {
        refuse(expression, "a number", &faults)
        return nil
      }
      faults.add(
        "idOutOfRange", at: expression,
        "\(expression.trimmedDescription) is no wire id; choose a number from 0 to \(UInt32.max)")
      return nil
    }

    private static func refuse(_ expression: ExprSyntax, _ wanted: String, _ faults: inout Faults) {
      faults.add(
        "notALiteral", at: expression,
        "the macro can't see the value of '\(expression.trimmedDescription)'; write \(wanted)")
    }
  }

  /// The cases of Weir's EventKind, which a plugin can't import. A test compares the two.
  let eventKindNames = ["pageView", "pageAction", "systemAction"]

  extension AttributeListSyntax {
    /// The attributes with this name, with or without a module before the name.
    func named(_ name: String) -> [AttributeSyntax] {
      compactMap { element in
        guard case .attribute(let attribute) = element else { return nil }
        return attribute.lastName == name ? attribute : nil
      }
    }
  }

  extension AttributeSyntax {
    var lastName: String? {
      attributeName.as(IdentifierTypeSyntax.self)?.name.text ?? attributeName.as(MemberTypeSyntax.self)?.name.text
    }
  }

  extension TokenSyntax {
    /// The name without the backticks that a keyword needs.
    var plainName: String {
      text.count > 2 && text.hasPrefix("`") && text.hasSuffix("`") ? String(text.dropFirst().dropLast()) : text
    }

    /// The name as the label of an argument. As labels, most keywords need no backticks, and the compiler warns of
    /// backticks.
    var argumentLabel: String {
      let isWord =
        plainName.unicodeScalars.allSatisfy(\.properties.isXIDContinue)
        && plainName.unicodeScalars.first?.properties.isXIDStart != false
      return isWord && plainName != "inout" ? plainName : text
    }
  }
#endif

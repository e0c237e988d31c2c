// DeclarationReader: reads the source of a type with @Event. EnumReading reads enums, StructureReading structures.

#if Macros
  import SwiftSyntax

  struct DeclarationReader {
    let attribute: AttributeSyntax
    let arguments: Arguments

    /// The declarations that contain the type, innermost first.
    let context: [Syntax]

    init(_ attribute: AttributeSyntax, _ context: [Syntax]) {
      self.attribute = attribute
      self.context = context
      arguments = Arguments(attribute)
    }

    /// The type's declaration; `nil` if the type can't be read at all. Other faults are noted, and reading continues.
    func read(_ declaration: some DeclGroupSyntax, _ faults: inout Faults) -> EventDeclaration? {
      guard let name = name(of: declaration) else {
        faults.add(
          "notAType", at: attribute,
          "@Event is for enums and structures: \(word(for: declaration)) can't be an event, whose value must stay as "
            + "it was captured")
        return nil
      }
      guard !isGeneric(declaration, name, &faults), isVisible(declaration, name, &faults) else { return nil }
      refuseConformance(in: declaration, &faults)
      refuseEventValue(declaration, &faults)
      if let enumeration = declaration.as(EnumDeclSyntax.self) { return read(enumeration, &faults) }
      return declaration.as(StructDeclSyntax.self).flatMap { read($0, &faults) }
    }

    private func name(of declaration: some DeclGroupSyntax) -> TokenSyntax? {
      declaration.as(EnumDeclSyntax.self)?.name ?? declaration.as(StructDeclSyntax.self)?.name
    }

    private func word(for declaration: some DeclGroupSyntax) -> String {
      switch declaration.kind {
      case .classDecl: "a class"
      case .actorDecl: "an actor"
      case .protocolDecl: "a protocol"
      default: "an extension"
      }
    }

    /// Whether the type is generic, which is a fault: generic types have no static stored properties, and one name for
    /// many types.
    private func isGeneric(
      _ declaration: some DeclGroupSyntax, _ name: TokenSyntax, _ faults: inout Faults
    ) -> Bool {
      let own =
        declaration.as(EnumDeclSyntax.self)?.genericParameterClause
        ?? declaration.as(StructDeclSyntax.self)?.genericParameterClause
      if let own {
        faults.add(
          "generic", at: own,
          "'\(name.plainName)' is generic, and an event has one declaration; write an event for each type, or give the "
            + "field the type FieldValue")
        return true
      }
      for outer in context {
        guard let generic = outer.asProtocol((any WithGenericParametersSyntax).self),
          generic.genericParameterClause != nil, let outerName = outer.asProtocol((any NamedDeclSyntax).self)?.name
        else { continue }
        faults.add(
          "generic", at: name,
          "'\(name.plainName)' is declared in '\(outerName.text)', which is generic, so it would be many types of one "
            + "name; declare it outside")
        return true
      }
      return false
    }

    /// Whether the extension sees the type. The extension is at the end of the file, where private members of types
    /// are not visible.
    private func isVisible(
      _ declaration: some DeclGroupSyntax, _ name: TokenSyntax, _ faults: inout Faults
    ) -> Bool {
      for (depth, outer) in context.enumerated() {
        guard depth + 1 < context.count, let group = outer.asProtocol((any DeclGroupSyntax).self),
          group.modifiers.contains(where: { $0.name.text == "private" }),
          let outerName = outer.asProtocol((any NamedDeclSyntax).self)?.name
        else { continue }
        faults.add(
          "private", at: name,
          "'\(name.plainName)' can't be extended, for '\(outerName.text)' is private in a type; make that fileprivate")
        return false
      }
      guard !context.isEmpty,
        let modifier = declaration.modifiers.first(where: { $0.name.text == "private" && $0.detail == nil })
      else { return true }
      let fileprivateModifier = modifier.with(\.name.tokenKind, .keyword(.fileprivate))
      faults.add(
        "private", at: modifier, "'\(name.plainName)' is private in a type and can't be extended; make it fileprivate",
        fix: Fix("make it fileprivate", modifier, by: fileprivateModifier))
      return false
    }

    /// Refuses members that the macro writes itself.
    private func refuseConformance(in declaration: some DeclGroupSyntax, _ faults: inout Faults) {
      for member in declaration.memberBlock.members {
        var written: String?
        if let cases = member.decl.as(EnumCaseDeclSyntax.self) {
          written = cases.elements.map(\.name.plainName).first { $0 == "eventName" || $0 == "eventTypes" }
        } else if let variable = member.decl.as(VariableDeclSyntax.self) {
          let names = variable.bindings.compactMap { $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.text }
          let isStatic = variable.modifiers.contains { $0.name.text == "static" }
          written = isStatic ? names.first { $0 == "eventName" || $0 == "eventTypes" } : nil
        } else if let function = member.decl.as(FunctionDeclSyntax.self),
          let parameter = function.signature.parameterClause.parameters.first, function.name.text == "encode",
          parameter.firstName.text == "into"
        {
          written = "encode(into:)"
        } else if let initializer = member.decl.as(InitializerDeclSyntax.self),
          let parameter = initializer.signature.parameterClause.parameters.first,
          parameter.firstName.tokenKind == .wildcard,
          initializer.signature.parameterClause.parameters.count == 1,
          parameter.type.trimmedDescription.split(separator: ".").last == "StoredEvent"
        {
          written = "init(_:)"
        }
        guard let written else { continue }
        if member.decl.is(EnumCaseDeclSyntax.self) {
          faults.add(
            "written", at: member.decl,
            "@Event writes '\(written)'; give the case another name in the source: @Case(\"\(written)\") keeps it in the "
              + "log")
          continue
        }
        let instead = written == "eventName" ? "; give the name to @Event" : ", or do without @Event"
        faults.add("written", at: member.decl, "@Event writes '\(written)'; remove this one\(instead)")
      }
    }

    /// Refuses types that are both an event and a field's value. Both protocols need an encode(into:), and one function
    /// can't be both: an event's function begins a new event, a value's function ends a field.
    private func refuseEventValue(_ declaration: some DeclGroupSyntax, _ faults: inout Faults) {
      let inherited = declaration.inheritanceClause?.inheritedTypes.first { inherited in
        inherited.type.trimmedDescription.split(separator: ".").last == "EventValue"
      }
      guard let inherited else { return }
      faults.add(
        "eventValue", at: inherited.type,
        "an event can't be the value of a field, too: each event that held it would be refused; make that a type of its "
          + "own")
    }

    // MARK: Parts of enums and structures

    /// Whether a case or a property is deprecated. Unavailable ones are refused, because nobody could read them back.
    func isDeprecated(_ attributes: AttributeListSyntax, _ faults: inout Faults) -> Bool {
      var isDeprecated = false
      for attribute in attributes.named("available") {
        let words = attribute.tokens(viewMode: .sourceAccurate).map(\.text)
        if words.contains("unavailable") || words.contains("obsoleted") {
          faults.add(
            "unavailable", at: attribute,
            "what is unavailable can't be read back; deprecate it, or remove it (a case's id goes into 'retired')")
        }
        isDeprecated = isDeprecated || words.contains("deprecated")
      }
      return isDeprecated
    }

    /// The access level that makes the extension's members as visible as the type.
    func access(of declaration: some DeclGroupSyntax) -> String? {
      let own = Self.access(declaration.modifiers)
      let given = own ?? context.first?.as(ExtensionDeclSyntax.self).flatMap { Self.access($0.modifiers) }
      return given == "public" || given == "package" ? given : nil
    }

    /// Whether all declarations that contain the type are public, as far as the source shows.
    var isContextPublic: Bool {
      context.allSatisfy { outer in
        outer.asProtocol((any DeclGroupSyntax).self).map { Self.access($0.modifiers) == "public" } ?? false
      }
    }

    static func access(_ modifiers: DeclModifierListSyntax) -> String? {
      let levels: Set = ["public", "package", "internal", "fileprivate", "private", "open"]
      // Modifiers with a detail, such as private(set), concern only the setter.
      return modifiers.first { levels.contains($0.name.text) && $0.detail == nil }?.name.text
    }

    /// Refuses names that may not be in the log: names that are too long, empty, or reserved for the log.
    func checkName(_ name: String, at node: some SyntaxProtocol, _ faults: inout Faults) {
      if name.isEmpty {
        faults.add("nameEmpty", at: node, "a name can't be empty; leave the argument out for the name in the source")
      } else if name.utf8.count > maximumNameBytes {
        faults.add(
          "nameTooLong", at: node,
          "a name of \(name.utf8.count) bytes is too long; a log takes names of \(maximumNameBytes) bytes")
      } else if name.utf8.contains(0) {
        faults.add("nameWithZero", at: node, "a name can't hold a zero byte, where C would end it; choose another")
      }
    }

    /// Refuses #if inside an attribute list, a case or a property.
    func refuseConditional(_ node: some SyntaxProtocol, _ faults: inout Faults) {
      faults.add(
        "conditional", at: node,
        "@Event can't see which side of #if is compiled, and logs would differ from build to build; declare it without "
          + "a condition, and put #if around the code that captures it")
    }

    func hasConditional(_ attributes: AttributeListSyntax) -> IfConfigDeclSyntax? {
      for case .ifConfigDecl(let conditional) in attributes { return conditional }
      return nil
    }
  }

  /// The limit of Weir's EventType, which a plugin can't import. A test compares the two.
  let maximumNameBytes = 1024

  /// The prefix of the log's own names, also a copy of EventType's.
  let reservedPrefix = "weir."
#endif

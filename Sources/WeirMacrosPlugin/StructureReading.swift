// StructureReading: a structure's stored properties, which are the fields of its one event.

#if Macros
  import SwiftSyntaxBuilder
  import SwiftSyntax

  extension DeclarationReader {
    func read(_ declaration: StructDeclSyntax, _ faults: inout Faults) -> EventDeclaration? {
      if let retired = arguments.expression("retired") {
        faults.add("misplaced", at: retired, "a structure is one event, of which none can be retired; remove 'retired'")
      }
      let name = arguments.text(nil, &faults) ?? declaration.name.plainName
      let position = arguments.expression(nil).map { Syntax($0) } ?? Syntax(declaration.name)
      checkName(name, at: position, &faults)
      let formerNames = arguments.texts("formerly", &faults)
      for former in formerNames { checkName(former, at: arguments.expression("formerly")!, &faults) }
      if formerNames.contains(name) {
        faults.add("formerIsPresent", at: position, "'\(name)' is the name that the event has, not a former one")
      }

      var properties = Properties()
      for member in declaration.memberBlock.members {
        if let conditional = member.decl.as(IfConfigDeclSyntax.self), hasStored(conditional) {
          refuseConditional(conditional, &faults)
          properties.areAllComputed = false
        } else if let variable = member.decl.as(VariableDeclSyntax.self) {
          read(variable, into: &properties, &faults)
        }
      }
      if properties.areAllComputed, let computed = properties.computed {
        faults.add(
          "onlyComputed", at: computed,
          "'\(declaration.name.plainName)' stores nothing: properties that are computed are no fields; store what the "
            + "event is to carry")
      }
      let id = arguments.id("id", &faults)
      let access = access(of: declaration)
      let event = EventCase(
        position: Syntax(declaration.name), namePosition: position, code: declaration.name.text, name: name,
        formerNames: formerNames, id: id ?? wireID(ofName: formerNames.first ?? name), hasOwnID: id != nil,
        kind: arguments.kind(&faults), fields: properties.fields)
      return EventDeclaration(
        form: .structure, position: Syntax(declaration.name), namePosition: position, name: name, access: access,
        isInlinable: access == "public" && isContextPublic && properties.areAllPublic,
        isDeprecated: isDeprecated(declaration.attributes, &faults), hasDeprecated: properties.hasDeprecated,
        events: [event], retired: [])
    }

    private struct Properties {
      var fields: [EventField] = []
      var areAllPublic = true
      var areAllComputed = true
      var hasDeprecated = false
      /// A computed property, as the place of a message.
      var computed: Syntax?
    }

    private func hasStored(_ conditional: IfConfigDeclSyntax) -> Bool {
      conditional.clauses.contains { clause in
        guard case .decls(let members) = clause.elements else { return false }
        return members.contains { member in
          if let inner = member.decl.as(IfConfigDeclSyntax.self) { return hasStored(inner) }
          guard let variable = member.decl.as(VariableDeclSyntax.self) else { return false }
          return !variable.isStatic && variable.bindings.contains { !$0.isComputed }
        }
      }
    }

    private func read(
      _ variable: VariableDeclSyntax, into properties: inout Properties, _ faults: inout Faults
    ) {
      if let conditional = hasConditional(variable.attributes) { refuseConditional(conditional, &faults) }
      let markers = variable.attributes.named("Field")
      if let second = markers.dropFirst().first {
        faults.add("twice", at: second, "a property has one @Field; put all that is to be said into it")
      }
      let isStored = !variable.isStatic && variable.bindings.contains { !$0.isComputed }
      guard isStored else {
        if let marker = markers.first {
          faults.add("notStored", at: marker, "the property is not stored in the structure, so it is no field")
        }
        if !variable.isStatic { properties.computed = properties.computed ?? Syntax(variable) }
        return
      }
      properties.areAllComputed = false
      if isDeprecated(variable.attributes, &faults) { properties.hasDeprecated = true }
      if let lazy = variable.modifiers.first(where: { $0.name.text == "lazy" }) {
        faults.add("lazy", at: lazy, "a lazy property may have no value yet when the event is captured; remove 'lazy'")
        return
      }
      if Self.access(variable.modifiers) != "public" { properties.areAllPublic = false }
      for binding in variable.bindings {
        guard var field = field(binding, of: variable, &faults) else { continue }
        // The compiler refuses the attribute for several properties at once.
        if let marker = markers.first {
          let arguments = Arguments(marker)
          if let value = arguments.expression("of") {
            faults.add("misplaced", at: value, "@Field is about the property that it stands before; remove 'of'")
          }
          describe(&field, arguments, &faults)
        }
        field.isWrapped = variable.attributes.contains { element in
          guard case .attribute(let attribute) = element else { return false }
          return attribute.lastName != "Field" && attribute.lastName != "available"
        }
        properties.fields.append(field)
      }
    }

    private func field(
      _ binding: PatternBindingSyntax, of variable: VariableDeclSyntax, _ faults: inout Faults
    ) -> EventField? {
      guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
        faults.add("pattern", at: binding.pattern, "a field needs a name of its own; write a property for each value")
        return nil
      }
      if variable.bindingSpecifier.text == "let", let initializer = binding.initializer {
        faults.add(
          "constant", at: name,
          "'\(name.plainName)' always is \(initializer.value.trimmedDescription), and can't be given what was stored; "
            + "make it a var, or remove the initial value",
          fix: Fix(
            "make it a var", variable.bindingSpecifier,
            by: variable.bindingSpecifier.with(\.tokenKind, .keyword(.var))))
        return nil
      }
      guard let type = binding.typeAnnotation?.type ?? laterType(binding, in: variable) else {
        let fix = binding.initializer.flatMap { Self.literalType($0.value) }.map { literal in
          Fix(
            "write ': \(literal)'", binding,
            by: binding.with(\.pattern, binding.pattern.trimmed).with(
              \.typeAnnotation,
              TypeAnnotationSyntax(
                colon: .colonToken(trailingTrivia: .space), type: TypeSyntax(stringLiteral: literal),
                trailingTrivia: .space)))
        }
        faults.add(
          "untyped", at: name, "the macro can't see the type of '\(name.plainName)'; write it: '\(name.text): Type'",
          fix: fix)
        return nil
      }
      faults.checkType(of: name.plainName, type)
      return EventField(
        position: Syntax(name), code: name.text, label: name.plainName, name: name.plainName,
        type: type.trimmedDescription, defaultValue: binding.initializer?.value.trimmedDescription)
    }

    /// In `var a, b: Int`, the type of `a` is the type of the next binding with a type.
    private func laterType(_ binding: PatternBindingSyntax, in variable: VariableDeclSyntax) -> TypeSyntax? {
      guard binding.initializer == nil, let index = variable.bindings.index(of: binding) else { return nil }
      return variable.bindings[index...].lazy.compactMap { $0.typeAnnotation?.type }.first
    }

    private static func literalType(_ value: ExprSyntax) -> String? {
      switch value.kind {
      case .integerLiteralExpr: "Int"
      case .floatLiteralExpr: "Double"
      case .stringLiteralExpr: "String"
      case .booleanLiteralExpr: "Bool"
      default: nil
      }
    }
  }

  extension VariableDeclSyntax {
    var isStatic: Bool { modifiers.contains { $0.name.text == "static" || $0.name.text == "class" } }
  }

  extension PatternBindingSyntax {
    /// Whether the property has a getter. A property with observers only is a stored property.
    var isComputed: Bool {
      switch accessorBlock?.accessors {
      case nil: false
      case .getter: true
      case .accessors(let accessors):
        !accessors.allSatisfy { $0.accessorSpecifier.text == "willSet" || $0.accessorSpecifier.text == "didSet" }
      }
    }
  }
#endif

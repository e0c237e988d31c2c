// EnumReading: an enum's cases and their associated values.

#if Macros
  import SwiftSyntax

  extension DeclarationReader {
    func read(_ declaration: EnumDeclSyntax, _ faults: inout Faults) -> EventDeclaration? {
      if let id = arguments.expression("id") {
        faults.add("misplaced", at: id, "an enum has no id of its own; give it to the case: @Case(id: \(id.trimmed))")
      }
      if let indirect = declaration.modifiers.first(where: { $0.name.text == "indirect" }) {
        refuseIndirect(indirect, &faults)
      }
      let prefix = arguments.text(nil, &faults) ?? declaration.name.plainName
      let position = arguments.expression(nil).map { Syntax($0) } ?? Syntax(declaration.name)
      checkName(prefix, at: position, &faults)
      let formerPrefixes = arguments.texts("formerly", &faults)
      for former in formerPrefixes { checkName(former, at: arguments.expression("formerly")!, &faults) }
      if formerPrefixes.contains(prefix) {
        faults.add("formerIsPresent", at: position, "'\(prefix)' is the prefix that the events have, not a former one")
      }
      let names = Names(prefixes: formerPrefixes + [prefix], kind: arguments.kind(&faults))

      var events: [EventCase] = []
      var foundConditional = false
      var hasDeprecated = false
      for member in declaration.memberBlock.members {
        if let conditional = member.decl.as(IfConfigDeclSyntax.self), conditional.contains(EnumCaseDeclSyntax.self) {
          refuseConditional(conditional, &faults)
          foundConditional = true
        } else if let cases = member.decl.as(EnumCaseDeclSyntax.self) {
          hasDeprecated = isDeprecated(cases.attributes, &faults) || hasDeprecated
          events += read(cases, names, &faults)
        }
      }
      if events.isEmpty, !foundConditional {
        faults.add("noCases", at: declaration.name, "'\(declaration.name.plainName)' has no cases, so it has no events")
      }
      let retired = arguments.retired(&faults).map { entry in
        Retired(
          id: entry.id ?? wireID(ofName: "\(names.prefixes[0]).\(entry.name ?? "")"),
          name: entry.name.map { "\(prefix).\($0)" }, text: entry.text)
      }
      let access = access(of: declaration)
      return EventDeclaration(
        form: .enumeration, position: Syntax(declaration.name), namePosition: position, name: prefix, access: access,
        isInlinable: access == "public" && isContextPublic, isDeprecated: isDeprecated(declaration.attributes, &faults),
        hasDeprecated: hasDeprecated, events: events, retired: retired)
    }

    /// The parts of the enum's declaration that apply to its cases.
    private struct Names {
      /// The former prefixes, oldest first, and the present prefix.
      var prefixes: [String]
      var kind: String?
    }

    private func read(_ cases: EnumCaseDeclSyntax, _ names: Names, _ faults: inout Faults) -> [EventCase] {
      if let conditional = hasConditional(cases.attributes) { refuseConditional(conditional, &faults) }
      if let indirect = cases.modifiers.first(where: { $0.name.text == "indirect" }) {
        refuseIndirect(indirect, &faults)
      }
      let markers = cases.attributes.named("Case")
      let fieldMarkers = cases.attributes.named("Field")
      if let second = markers.dropFirst().first {
        faults.add("twice", at: second, "a case has one @Case; put all that is to be said into it")
      }
      if cases.elements.count > 1, let marker = markers.first ?? fieldMarkers.first {
        faults.add(
          "severalCases", at: marker,
          "@\(marker.lastName ?? "") would be about \(cases.elements.count) cases; write a 'case' for each of them")
        return cases.elements.map { read($0, nil, [], names, &faults) }
      }
      return cases.elements.map { element in
        read(element, markers.first.map(Arguments.init), fieldMarkers, names, &faults)
      }
    }

    private func read(
      _ element: EnumCaseElementSyntax, _ marker: Arguments?, _ fieldMarkers: [AttributeSyntax], _ names: Names,
      _ faults: inout Faults
    ) -> EventCase {
      let name = marker?.text(nil, &faults) ?? element.name.plainName
      let namePosition = marker?.expression(nil).map { Syntax($0) } ?? Syntax(element.name)
      if name.isEmpty { checkName(name, at: namePosition, &faults) }
      let formerNames = marker?.texts("formerly", &faults) ?? []
      for former in formerNames { checkName(former, at: marker!.expression("formerly")!, &faults) }
      if formerNames.contains(name) {
        faults.add("formerIsPresent", at: namePosition, "'\(name)' is the name that the event has, not a former one")
      }

      // Any former name may have been combined with any former prefix.
      let all = names.prefixes.flatMap { prefix in (formerNames + [name]).map { "\(prefix).\($0)" } }
      let own = all[all.count - 1]
      checkName(own, at: namePosition, &faults)
      let id = marker?.id("id", &faults)
      return EventCase(
        position: Syntax(element.name), namePosition: namePosition, code: element.name.text, name: own,
        formerNames: all.dropLast().filter { $0 != own }, id: id ?? wireID(ofName: all[0]), hasOwnID: id != nil,
        kind: marker?.kind(&faults) ?? names.kind, fields: fields(of: element, fieldMarkers, &faults))
    }

    private func fields(
      of element: EnumCaseElementSyntax, _ markers: [AttributeSyntax], _ faults: inout Faults
    ) -> [EventField] {
      var fields: [EventField] = []
      for (index, parameter) in (element.parameterClause?.parameters ?? []).enumerated() {
        guard let label = parameter.firstName, label.tokenKind != .wildcard else {
          refuseUnlabelled(parameter, index, of: element, &faults)
          continue
        }
        faults.checkType(of: label.plainName, parameter.type)
        fields.append(
          EventField(
            position: Syntax(label), code: label.argumentLabel, label: label.plainName, name: label.plainName,
            type: parameter.type.trimmedDescription, defaultValue: parameter.defaultValue?.value.trimmedDescription))
      }
      var described: Set<String> = []
      for marker in markers {
        let arguments = Arguments(marker)
        guard let value = arguments.text("of", &faults) else {
          if arguments.expression("of") == nil {
            faults.add("fieldOfWhat", at: marker, "say which value of the case this is about: @Field(of: \"label\")")
          }
          continue
        }
        guard let index = fields.firstIndex(where: { $0.label == value }) else {
          let labels = fields.map { "'\($0.label)'" }.joined(separator: ", ")
          faults.add(
            "noSuchValue", at: arguments.expression("of")!,
            "'\(element.name.plainName)' has no value labelled '\(value)'; "
              + (labels.isEmpty ? "it has none" : "it has \(labels)"))
          continue
        }
        guard described.insert(value).inserted else {
          faults.add("twice", at: marker, "'\(value)' has one @Field; put all that is to be said into it")
          continue
        }
        describe(&fields[index], arguments, &faults)
      }
      return fields
    }

    /// Applies the arguments of @Field.
    func describe(_ field: inout EventField, _ arguments: Arguments, _ faults: inout Faults) {
      if let name = arguments.text(nil, &faults) {
        field.name = name
        field.position = Syntax(arguments.expression(nil)!)
        checkName(name, at: field.position, &faults)
      }
      field.formerNames = arguments.texts("formerly", &faults)
      for former in field.formerNames { checkName(former, at: arguments.expression("formerly")!, &faults) }
      field.isSensitive = arguments.flag("sensitive", &faults)
    }

    private func refuseUnlabelled(
      _ parameter: EnumCaseParameterSyntax, _ index: Int, of element: EnumCaseElementSyntax, _ faults: inout Faults
    ) {
      let count = element.parameterClause?.parameters.count ?? 0
      let ordinal = count == 1 ? "the value" : "value \(index + 1)"
      let name = count == 1 ? "value" : "value\(index + 1)"
      let labelled =
        parameter
        .with(\.firstName, .identifier(name)).with(\.secondName, nil).with(\.colon, .colonToken(trailingTrivia: .space))
      faults.add(
        "unlabelled", at: parameter,
        "\(ordinal) of '\(element.name.plainName)' has no label, and the field would have no name; give it one",
        fix: Fix("name it '\(name)'", parameter, by: labelled))
    }

    private func refuseIndirect(_ modifier: DeclModifierSyntax, _ faults: inout Faults) {
      faults.add(
        "indirect", at: modifier,
        "an event can't be indirect: its values would be allocated at each capture, and an event can't hold another "
          + "one; remove 'indirect'")
    }
  }

  extension SyntaxProtocol {
    /// Whether this node contains a node of the type.
    func contains<Node: SyntaxProtocol>(_ type: Node.Type) -> Bool {
      self.is(type) || children(viewMode: .sourceAccurate).contains { $0.contains(type) }
    }
  }
#endif

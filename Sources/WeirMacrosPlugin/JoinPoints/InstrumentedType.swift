// InstrumentedType: the methods of a type that @Instrumented marks, and the names of their join points.

#if Macros
  import SwiftSyntax

  struct InstrumentedType {
    private let declaration: any DeclGroupSyntax
    private let context: [Syntax]
    private let attribute: AttributeSyntax
    private let only: Set<String>?
    private let except: Set<String>

    /// `nil` if the type can't be instrumented.
    init?(
      _ attribute: AttributeSyntax, _ declaration: some DeclGroupSyntax, _ context: [Syntax], _ faults: inout Faults
    ) {
      self.attribute = attribute
      self.declaration = declaration
      self.context = [Syntax(declaration)] + context
      let arguments = Arguments(attribute)
      only = arguments.expression("only").map { _ in Set(arguments.texts("only", &faults)) }
      except = Set(arguments.texts("except", &faults))
      if declaration.is(ProtocolDeclSyntax.self) {
        faults.add(
          "protocol", at: attribute,
          "a protocol's methods have no bodies to listen to; put @Instrumented on the types that conform")
        return nil
      }
      if declaration.is(ExtensionDeclSyntax.self) {
        faults.add(
          "extension", at: attribute,
          "@Instrumented belongs to the type itself; in an extension put @JoinPoint on each method")
        return nil
      }
      guard checkGeneric(self.context, at: attribute, &faults) else { return nil }
      checkNames(arguments, &faults)
    }

    // MARK: Which methods

    /// Whether a method gets @JoinPoint from the type.
    func selects(_ function: FunctionDeclSyntax) -> Bool {
      guard canHave(function), !except.contains(function.name.plainName), !except.contains(function.fullName) else {
        return false
      }
      if let only { return only.contains(function.name.plainName) || only.contains(function.fullName) }
      return !function.modifiers.contains { $0.name.text == "private" }
    }

    private func canHave(_ function: FunctionDeclSyntax) -> Bool {
      function.body != nil && !function.isOperator && !function.isUnavailable
    }

    private func checkNames(_ arguments: Arguments, _ faults: inout Faults) {
      if only != nil, let second = arguments.expression("except") {
        faults.add("both", at: second, "'only' says which methods already; remove 'except'")
      }
      let functions = Self.functions(declaration.memberBlock.members).filter(canHave)
      let known = Set(functions.flatMap { [$0.name.plainName, $0.fullName] })
      for label in ["only", "except"] {
        // Arguments that are no literals were refused before.
        var ignored = Faults()
        let unknown = arguments.texts(label, &ignored).filter { !known.contains($0) }
        for name in unknown {
          let methods = functions.map(\.fullName).joined(separator: ", ")
          faults.add(
            "unknown", at: arguments.expression(label)!,
            "there is no method '\(name)' here to instrument; "
              + (methods.isEmpty ? "the type has none" : "the type has \(methods)"))
        }
      }
    }

    /// All members of a type's body, on both sides of #if.
    private static func functions(_ members: MemberBlockItemListSyntax) -> [FunctionDeclSyntax] {
      members.flatMap { member -> [FunctionDeclSyntax] in
        if let function = member.decl.as(FunctionDeclSyntax.self) { return [function] }
        guard let conditional = member.decl.as(IfConfigDeclSyntax.self) else { return [] }
        return conditional.clauses.flatMap { clause -> [FunctionDeclSyntax] in
          guard case .decls(let members)? = clause.elements else { return [] }
          return functions(members)
        }
      }
    }

    // MARK: Names

    /// The enum that lists the descriptors; `nil` if all descriptors belong to another type.
    func joinPoints(_ faults: inout Faults) -> String? {
      let all = roots(declaration.memberBlock.members)
      guard !all.isEmpty else { return nil }
      let names = names(all, &faults)
      let levels = Set(all.compactMap(\.access))
      let access = levels.contains("public") ? "public " : levels.contains("package") ? "package " : ""
      var index = 0
      let properties = text(declaration.memberBlock.members, names, &index)
      return """
        /// The join points of ``\(typeName)``.
        \(access)nonisolated enum JoinPoints {
        \(properties)
        }
        """
    }

    private var typeName: String {
      declaration.asProtocol((any NamedDeclSyntax).self)?.name.plainName ?? ""
    }

    /// The join points of a list of members, without the join points of a superclass.
    private func roots(_ members: MemberBlockItemListSyntax) -> [InstrumentedFunction] {
      Self.functions(members).compactMap(root)
    }

    /// Notes no faults for refused methods, because @JoinPoint reports them.
    private func root(_ function: FunctionDeclSyntax) -> InstrumentedFunction? {
      guard function.joinPoint != nil || selects(function) else { return nil }
      var faults = Faults()
      let read = FunctionReader(function.joinPoint, of: function, in: context).read(function, &faults)
      return faults.found.isEmpty && read?.isInherited == false ? read : nil
    }

    /// The given name; otherwise the base name, if the base name is unique; otherwise the base name with the labels.
    private func names(_ all: [InstrumentedFunction], _ faults: inout Faults) -> [String] {
      let names = all.map { function in
        if let given = function.givenName { return given }
        let others = all.filter { $0.name == function.name && $0.givenName == nil && !areAlternatives($0, function) }
        return others.count == 1 ? function.name : function.longName
      }
      for (index, function) in all.enumerated() {
        let earlier = (0..<index).first { other in
          (names[other] == names[index] || all[other].descriptorName == function.descriptorName)
            && !areAlternatives(all[other], function)
        }
        if let earlier {
          faults.add(
            "clash", at: function.position,
            "'\(function.fullName)' and '\(all[earlier].fullName)' would both be the join point '\(names[index])'; give "
              + "one a name: @JoinPoint(\"\(function.longName)2\")",
            seen: (all[earlier].position, "'\(all[earlier].fullName)' is here"))
        } else if ["self", "Type", "Protocol", "init"].contains(names[index]) {
          faults.add(
            "reservedName", at: function.position,
            "no property can be called '\(names[index])'; give the join point a name: @JoinPoint(\"…\")")
        }
      }
      return names
    }

    /// Whether both are in different clauses of one #if, of which only one is compiled.
    private func areAlternatives(_ one: InstrumentedFunction, _ other: InstrumentedFunction) -> Bool {
      let clauses = Set(one.position.conditionalClauses)
      return other.position.conditionalClauses.contains { clause in
        clauses.contains { $0 != clause && $0.parent == clause.parent }
      }
    }

    /// The properties, within the same conditions as the methods.
    private func text(_ members: MemberBlockItemListSyntax, _ names: [String], _ index: inout Int) -> String {
      var lines: [String] = []
      for member in members {
        if let function = member.decl.as(FunctionDeclSyntax.self), let root = root(function) {
          lines.append(root.property(names[index]).split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))
          index += 1
        } else if let conditional = member.decl.as(IfConfigDeclSyntax.self) {
          lines.append(contentsOf: text(conditional, names, &index))
        }
      }
      return lines.joined(separator: "\n")
    }

    private func text(_ conditional: IfConfigDeclSyntax, _ names: [String], _ index: inout Int) -> [String] {
      var lines: [String] = []
      for clause in conditional.clauses {
        lines.append(clause.poundKeyword.text + (clause.condition.map { " " + $0.trimmedDescription } ?? ""))
        if case .decls(let members)? = clause.elements { lines.append(text(members, names, &index)) }
      }
      return lines + ["#endif"]
    }
  }

  extension FunctionDeclSyntax {
    /// `like(_:at:)`.
    var fullName: String {
      let labels = signature.parameterClause.parameters.map {
        $0.firstName.tokenKind == .wildcard ? "_:" : $0.firstName.plainName + ":"
      }
      return name.plainName + "(" + labels.joined() + ")"
    }
  }

  extension Syntax {
    fileprivate var conditionalClauses: [Syntax] {
      sequence(first: self, next: \.parent).filter { $0.is(IfConfigClauseSyntax.self) }
    }
  }
#endif

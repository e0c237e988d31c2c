// InstrumentedType: the members of a type that @Instrumented marks, and the names of their join points.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  struct InstrumentedType {
    private let declaration: any DeclGroupSyntax
    private let context: [Syntax]
    private let attribute: AttributeSyntax
    private let only: Set<String>?
    private let except: Set<String>
    private let macroContext: any MacroExpansionContext

    /// `nil` if the type can't be instrumented.
    init?(
      _ attribute: AttributeSyntax, _ declaration: some DeclGroupSyntax, in context: some MacroExpansionContext,
      _ faults: inout Faults
    ) {
      self.attribute = attribute
      self.declaration = declaration
      self.context = [Syntax(declaration)] + Self.outer(declaration, context)
      macroContext = context
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
      guard checkGeneric(self.context, isInstrumented: true, at: attribute, &faults) else { return nil }
      checkNames(arguments, &faults)
    }

    /// The declarations around the type. For the attributes of a member, the context begins with the type itself.
    private static func outer(_ type: some DeclGroupSyntax, _ context: some MacroExpansionContext) -> [Syntax] {
      func name(_ node: some SyntaxProtocol) -> String? { node.asProtocol((any NamedDeclSyntax).self)?.name.text }
      let around = context.lexicalContext
      guard let first = around.first, first.kind == type.kind, name(first) == name(type) else { return around }
      return Array(around.dropFirst())
    }

    // MARK: Which methods

    /// Whether a method or an initialiser gets @JoinPoint from the type.
    func selects(_ function: Callable) -> Bool {
      let names = [function.name, function.fullName]
      guard canHave(function), !names.contains(where: except.contains) else { return false }
      if let only { return names.contains(where: only.contains) }
      return function.kind == .function && !function.modifiers.contains { $0.name.text == "private" }
    }

    private func canHave(_ function: Callable) -> Bool {
      function.kind != .accessor && function.body != nil && !function.isOperator && !function.isUnavailable
    }

    private func checkNames(_ arguments: Arguments, _ faults: inout Faults) {
      if only != nil, let second = arguments.expression("except") {
        faults.add("both", at: second, "'only' says which methods already; remove 'except'")
      }
      let all = Self.callables(declaration.memberBlock.members).filter(canHave)
      for label in ["only", "except"] {
        // Without `only`, initialisers have no join points from the type, so there is nothing to exclude.
        let functions = label == "only" ? all : all.filter { $0.kind == .function }
        let known = Set(functions.flatMap { [$0.name, $0.fullName] })
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

    /// The methods, the initialisers, and the accessors with @JoinPoint of a type's body, on both sides of #if.
    private static func callables(_ members: MemberBlockItemListSyntax) -> [Callable] {
      members.flatMap { member in
        guard let conditional = member.decl.as(IfConfigDeclSyntax.self) else { return callables(member.decl) }
        return conditional.clauses.flatMap { clause -> [Callable] in
          guard case .decls(let members)? = clause.elements else { return [] }
          return callables(members)
        }
      }
    }

    private static func callables(_ member: DeclSyntax) -> [Callable] {
      if let function = member.as(FunctionDeclSyntax.self) { return [Callable(function)] }
      if let initializer = member.as(InitializerDeclSyntax.self) { return [Callable(initializer)] }
      var accessors: [Callable] = []
      if let outer = member.as(SubscriptDeclSyntax.self) {
        accessors = outer.accessorBlock?.list.map { Callable($0, of: outer) } ?? []
      } else if let property = member.as(VariableDeclSyntax.self), let binding = property.bindings.first {
        accessors = binding.accessorBlock?.list.map { Callable($0, of: property, binding) } ?? []
      }
      return accessors.filter { $0.joinPoint != nil }
    }

    // MARK: Names

    /// The enum that lists the descriptors; `nil` if all descriptors belong to another type. For a generic type, the
    /// enum is beside the type, and has the descriptors.
    func joinPoints(_ faults: inout Faults) -> String? {
      let all = roots(declaration.memberBlock.members)
      checkTypes(all, &faults)
      guard !all.isEmpty else { return nil }
      let functions = all.map(\.function)
      let names = names(functions, &faults)
      var index = 0
      let properties = text(declaration.memberBlock.members) { root in
        defer { index += 1 }
        return (isGeneric ? root.function.descriptor.map(\.description) : []) + [root.function.property(names[index])]
      }
      return """
        /// The join points of ``\(typeName)``.
        \(access(functions))nonisolated enum \(isGeneric ? typeName : "")JoinPoints {
        \(properties)
        }
        """
    }

    /// The descriptors of accessors, as members of the type, because the macro of an accessor can't write declarations.
    func accessors() -> String {
      guard roots(declaration.memberBlock.members).contains(where: { $0.function.kind == .accessor }) else { return "" }
      return text(declaration.memberBlock.members) { root in
        guard root.function.kind == .accessor else { return [] }
        return (isGeneric ? root.function.inheritableProperty.map { [$0] } ?? [] : root.function.descriptor)
          .map(\.description)
      }
    }

    var isGeneric: Bool {
      declaration.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause != nil
    }

    /// The access modifier of the enum. The enum is seen as far as any of the methods, and, beside a generic type, no
    /// further than the type.
    private func access(_ functions: [InstrumentedFunction]) -> String {
      let order = ["fileprivate", "", "package", "public"]
      func rank(_ access: String?) -> Int {
        switch access {
        case "private", "fileprivate": 0
        case "package": 2
        case "public", "open": 3
        default: 1
        }
      }
      let methods = max(1, functions.map { rank($0.access) }.max() ?? 1)
      let level = isGeneric ? min(methods, rank(DeclarationReader.access(declaration.modifiers))) : methods
      return order[level].isEmpty ? "" : order[level] + " "
    }

    private var typeName: String {
      declaration.asProtocol((any NamedDeclSyntax).self)?.name.plainName ?? ""
    }

    /// A member with a join point of its own.
    private struct Root {
      var source: Callable
      var function: InstrumentedFunction
    }

    /// The join points of a list of members, without the join points of a superclass.
    private func roots(_ members: MemberBlockItemListSyntax) -> [Root] {
      Self.callables(members).compactMap(root)
    }

    /// Notes no faults for refused methods, because @JoinPoint reports them.
    private func root(_ function: Callable) -> Root? {
      guard function.joinPoint != nil || selects(function) else { return nil }
      var faults = Faults()
      let read = FunctionReader(function.joinPoint, of: function, in: context).read(function, &faults)
      guard faults.found.isEmpty, var read, !read.isInherited else { return nil }
      if let place = macroContext.location(of: function.position, at: .afterLeadingTrivia, filePathMode: .fileID) {
        read.place = (place.file.trimmedDescription, place.line.trimmedDescription)
      }
      return Root(source: function, function: read)
    }

    /// Refuses properties whose type only the compiler knows.
    private func checkTypes(_ all: [Root], _ faults: inout Faults) {
      for root in all where root.function.kind == .accessor && root.source.valueType == nil && !isGeneric {
        faults.add(
          "accessorType", at: root.source.position,
          "the join point of '\(root.source.fullName)' needs the type of the property; write the type: "
            + "var \(root.source.name): …")
      }
    }

    /// The given name; otherwise the base name, if the base name is unique; otherwise the base name with the labels.
    private func names(_ all: [InstrumentedFunction], _ faults: inout Faults) -> [String] {
      let names = all.map { function in
        if let given = function.givenName { return given }
        let others = all.filter {
          $0.shortName == function.shortName && $0.givenName == nil && !areAlternatives($0, function)
        }
        return others.count == 1 ? function.shortName : function.longName
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

    /// What each join point adds, within the same conditions as the members.
    private func text(_ members: MemberBlockItemListSyntax, _ added: (Root) -> [String]) -> String {
      var lines: [String] = []
      for member in members {
        if let conditional = member.decl.as(IfConfigDeclSyntax.self) {
          for clause in conditional.clauses {
            lines.append(clause.poundKeyword.text + (clause.condition.map { " " + $0.trimmedDescription } ?? ""))
            if case .decls(let members)? = clause.elements { lines.append(text(members, added)) }
          }
          lines.append("#endif")
          continue
        }
        for root in Self.callables(member.decl).compactMap(root) {
          lines += added(root).flatMap { $0.split(separator: "\n") }.map { "  \($0)" }
        }
      }
      return lines.joined(separator: "\n")
    }
  }

  extension AccessorBlockSyntax {
    /// The accessors that are written as such.
    fileprivate var list: [AccessorDeclSyntax] {
      if case .accessors(let list) = accessors { Array(list) } else { [] }
    }
  }

  extension Syntax {
    fileprivate var conditionalClauses: [Syntax] {
      sequence(first: self, next: \.parent).filter { $0.is(IfConfigClauseSyntax.self) }
    }
  }
#endif

// FunctionReader: reads the source of a function with @JoinPoint, and refuses functions that can't have a join point.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  struct FunctionReader {
    /// `nil` for a method that @Instrumented marks.
    let arguments: Arguments?
    let position: Syntax

    /// The declarations that contain the function, innermost first.
    let context: [Syntax]

    init(_ attribute: AttributeSyntax?, of function: Callable, in context: [Syntax]) {
      arguments = attribute.map(Arguments.init)
      position = attribute.map { Syntax($0) } ?? Syntax(function.position)
      self.context = context
    }

    /// The function; `nil` if the function can't have a join point.
    func read(_ function: Callable, _ faults: inout Faults) -> InstrumentedFunction? {
      guard isInPlace(function, &faults), hasUsableForm(function, &faults) else { return nil }
      let names = TypeNames(function, owner: typeName, ofGeneric: genericOwner == nil ? nil : genericParameters)
      let givenName = givenName(&faults)
      if function.kind == .accessor, givenName == nil, faults.found.isEmpty {
        faults.add(
          "accessorName", at: position,
          "the join point of an accessor needs a name, because a macro on an accessor does not see the property: "
            + "@JoinPoint(\"\(function.accessorName == "get" ? "title" : "setTitle")\")")
      }
      return InstrumentedFunction(
        position: Syntax(function.position), kind: function.kind, name: function.name, fullName: function.fullName,
        labels: function.labels, givenName: givenName, owner: owner(of: function), genericOwner: genericOwner,
        isInherited: isInherited(function, &faults), isAsync: function.isAsync, throwing: throwing(function),
        access: access(of: function), deprecation: function.attributes.available("deprecated")?.trimmedDescription,
        parameters: keptParameters(function, names, &faults) + assigned(function, names),
        result: result(of: function, names), place: nil,
        listedName: (path + [function.fullName]).joined(separator: "."))
    }

    // MARK: Parts

    /// The type that contains the function, by the name that the body uses.
    private var typeName: String? {
      switch context.first?.asProtocol((any DeclGroupSyntax).self) {
      case let group? where group.is(ExtensionDeclSyntax.self):
        group.as(ExtensionDeclSyntax.self)?.extendedType.trimmedDescription
      case let group?: group.asProtocol((any NamedDeclSyntax).self)?.name.text
      case nil: nil
      }
    }

    private func owner(of function: Callable) -> InstrumentedFunction.Owner {
      guard let typeName else { return .none }
      return function.isOfType || function.isInitializer ? .type(typeName) : .instance(of: typeName)
    }

    private var genericParameters: GenericParameterClauseSyntax? {
      context.first?.asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause
    }

    /// The type that contains the function, if the type is generic.
    private var genericOwner: InstrumentedFunction.GenericOwner? {
      guard genericParameters != nil, let outer = context.first, let typeName else { return nil }
      return .init(name: typeName, isClass: outer.is(ClassDeclSyntax.self) || outer.is(ActorDeclSyntax.self))
    }

    private func isInherited(_ function: Callable, _ faults: inout Faults) -> Bool {
      let isRoot = arguments?.flag("root", &faults) ?? false
      guard function.isOverride, !function.isInitializer else {
        // A macro on an accessor does not see whether the property overrides.
        if isRoot, function.kind != .accessor, let root = arguments?.expression("root") {
          let why = function.isInitializer ? "an initializer" : "'\(function.name)' overrides nothing, so it"
          faults.add("root", at: root, "\(why) is a root; remove 'root'")
        }
        return false
      }
      return !isRoot
    }

    private func result(of function: Callable, _ names: TypeNames) -> FunctionResult {
      switch function.kind {
      case .function: return functionResult(function.returnType, names)
      case .initializer(let isFailable):
        let type = genericOwner?.type ?? typeName ?? ""
        return .object(isFailable ? type + "?" : type, isFailable: isFailable)
      case .accessor where function.accessorName != "get": return .nothing
      case .accessor where function.name == "subscript": return functionResult(function.returnType, names)
      case .accessor:
        // The accessor of a property does not see the type, so the two sides agree on a type only for all properties
        // of a generic type.
        guard let type = function.valueType, genericOwner == nil, !isOfFunction(type, names) else {
          return .value("Any", .init(type: nil, isStructural: false))
        }
        return .value(descriptorType(type, names), .init(type: nil, isStructural: false))
      }
    }

    /// The value that a setter or an observer is given.
    private func assigned(_ accessor: Callable, _ names: TypeNames) -> [KeptParameter] {
      guard let (label, value) = accessor.assigned else { return [] }
      let name = identifier(value)
      let isErased =
        accessor.name == "subscript"
        ? accessor.valueType.map { isOfFunction($0, names) } ?? false : genericOwner != nil
      if isErased { return [KeptParameter(label: label, type: "Any", value: "\(name) as Any")] }
      let type = accessor.valueType.map { descriptorType($0, names) } ?? ""
      return [KeptParameter(label: label, type: type, value: name)]
    }

    /// The names of the surrounding types, outermost first.
    private var path: [String] {
      context.reversed().compactMap { outer in
        if let extended = outer.as(ExtensionDeclSyntax.self) { return extended.extendedType.trimmedDescription }
        guard outer.asProtocol((any DeclGroupSyntax).self) != nil else { return nil }
        return outer.asProtocol((any NamedDeclSyntax).self)?.name.plainName
      }
    }

    private func givenName(_ faults: inout Faults) -> String? {
      guard let name = arguments?.text(nil, &faults), let expression = arguments?.expression(nil) else { return nil }
      guard isPlainIdentifier(name) else {
        faults.add("name", at: expression, "'\(name)' can't be the name of a property; use letters, digits and _")
        return nil
      }
      return name
    }

    private func throwing(_ function: Callable) -> InstrumentedFunction.Throwing {
      guard let clause = function.throwsClause else { return .never }
      if clause.throwsSpecifier.text == "rethrows" { return .rethrowing }
      switch clause.type?.trimmedDescription {
      case nil, "any Error", "any Swift.Error": return .anyError
      case "Never", "Swift.Never": return .never
      case let type?: return .typed(type)
      }
    }

    /// The descriptor's access level. A property can't be open, and nested types don't see a private property.
    private func access(of function: Callable) -> String? {
      switch DeclarationReader.access(function.modifiers) {
      case "open": "public"
      case "private": isInPrivateExtension ? nil : "fileprivate"
      case let access: access
      }
    }

    /// In such an extension, `fileprivate` would be repeated.
    private var isInPrivateExtension: Bool {
      let access = context.first?.as(ExtensionDeclSyntax.self).flatMap { DeclarationReader.access($0.modifiers) }
      return access == "private" || access == "fileprivate"
    }

    private func keptParameters(
      _ function: Callable, _ names: TypeNames, _ faults: inout Faults
    ) -> [KeptParameter] {
      let parameters = function.parameters
      let omitted = Set(arguments?.texts("omit", &faults) ?? [])
      let known = Set(parameters.compactMap { $0.innerName?.plainName })
      for unknown in omitted.subtracting(known).sorted() {
        faults.add(
          "omit", at: arguments?.expression("omit").map { Syntax($0) } ?? position,
          "there is no parameter '\(unknown)' to omit; 'omit' takes the names that the body uses")
      }
      return parameters.compactMap { parameter in
        parameter.innerName.map { omitted.contains($0.plainName) } == true ? nil : parameter.kept(names)
      }
    }

    // MARK: Refusals

    private func isInPlace(_ function: Callable, _ faults: inout Faults) -> Bool {
      if function.kind == .accessor { return isAccessorInPlace(&faults) }
      guard let outer = context.first else { return true }
      if outer.is(ProtocolDeclSyntax.self) {
        faults.add(
          "protocol", at: position,
          "a requirement of a protocol has no body to listen to; put @JoinPoint on the methods that meet it")
        return false
      }
      guard outer.asProtocol((any DeclGroupSyntax).self) != nil else {
        faults.add(
          "local", at: position,
          "'\(function.name)' is a local function, which nobody outside could listen to; make it a method, or "
            + "call withJoinPoint(…) with a descriptor declared outside")
        return false
      }
      return checkGeneric(context, at: position, &faults) && checkCopyable(outer, &faults)
    }

    /// The compiler lets a macro on an accessor write a body and nothing else. So the type's macro writes the
    /// descriptor.
    private func isAccessorInPlace(_ faults: inout Faults) -> Bool {
      let type = context.first
      let group = type?.asProtocol((any DeclGroupSyntax).self)
      if let type, let group, !type.is(ExtensionDeclSyntax.self), !type.is(ProtocolDeclSyntax.self),
        !group.attributes.named("Instrumented").isEmpty
      {
        return checkGeneric(context, at: position, &faults) && checkCopyable(type, &faults)
      }
      let isType =
        group != nil && type?.is(ExtensionDeclSyntax.self) == false && type?.is(ProtocolDeclSyntax.self) == false
      faults.add(
        "accessorPlace", at: position,
        isType
          ? "a macro on an accessor can't declare a join point; put @Instrumented on '\(typeName ?? "")', which does"
          : "a macro on an accessor can't declare a join point, and here no @Instrumented type does; declare a "
            + "JoinPoint and call withJoinPoint(…) in the accessor")
      return false
    }

    private func checkCopyable(_ outer: Syntax, _ faults: inout Faults) -> Bool {
      let inherited = outer.asProtocol((any DeclGroupSyntax).self)?.inheritanceClause?.inheritedTypes
      guard inherited?.contains(where: { $0.type.is(SuppressedTypeSyntax.self) }) == true else { return true }
      faults.add(
        "uncopyable", at: position,
        "a value of '\(typeName ?? "")' can't be copied, and so not be handed to a hook; put @JoinPoint on a function "
          + "that uses it")
      return false
    }

    private func hasUsableForm(_ function: Callable, _ faults: inout Faults) -> Bool {
      let name = function.kind == .accessor ? function.accessorName : function.name
      let why: String?
      if function.isOperator {
        why = "'\(name)' is an operator, which is called where no hook is expected; call withJoinPoint(…) in its body"
      } else if let attribute = function.attributes.first(of: inlinedAttributes) {
        why =
          "'\(name)' is @\(attribute), and other modules would compile in a call of a descriptor that they can't see; "
          + "remove @\(attribute)"
      } else if let modifier = function.modifiers.first(where: { ["consuming", "borrowing"].contains($0.name.text) }) {
        why =
          "'\(name)' is \(modifier.name.text), and its object can't be handed to a hook as well; leave it out, or remove "
          + "'\(modifier.name.text)'"
      } else if let attribute = function.resultBuilder {
        why =
          "'\(name)' has @\(attribute), a result builder, which takes every statement of the body for a part of the "
          + "result; leave it out, or return what a function of its own builds"
      } else if function.isUnavailable {
        why = "'\(name)' is unavailable, so nobody calls it; leave it out"
      } else if function.parameters.contains(where: { $0.innerName?.plainName == "self" }) {
        why = "a parameter named self hides the object that hooks are given; give it another name in the body"
      } else if let body = function.body, function.kind != .function, hasCaptureList(body) {
        why =
          "'\(name)' has a closure with a capture list, which the compiler refuses in a body that a macro wrote; move "
          + "the closure into a method"
      } else if function.kind == .accessor, !["get", "set", "willSet", "didSet"].contains(name) {
        why = "'\(name)' lends a value instead of returning one; put @JoinPoint on get, set, willSet or didSet"
      } else if let body = function.body, hasCaptureList(body), throwing(function) == .rethrowing {
        why =
          "'\(name)' rethrows, and has a closure with a capture list, for which the compiler needs the body in a local "
          + "function, and that can't rethrow; move the closure into a method of its own"
      } else if function.body == nil {
        why = "'\(name)' has no body to listen to"
      } else {
        why = nil
      }
      if let why { faults.add("form", at: position, why) }
      return why == nil
    }
  }

  /// The attributes that compile a body into other modules.
  private let inlinedAttributes = ["inlinable", "_transparent", "_alwaysEmitIntoClient", "backDeployed"]

  /// Notes a fault if no place for a static descriptor exists: in a type inside of a generic type or function, in a
  /// generic type inside of a function, and in a generic type without @Instrumented, which declares the descriptors
  /// beside the type.
  func checkGeneric(
    _ context: [Syntax], isInstrumented: Bool = false, at position: some SyntaxProtocol, _ faults: inout Faults
  ) -> Bool {
    for (depth, outer) in context.enumerated() {
      guard let generic = outer.asProtocol((any WithGenericParametersSyntax).self),
        generic.genericParameterClause != nil, let name = outer.asProtocol((any NamedDeclSyntax).self)?.name.plainName
      else { continue }
      if depth > 0 || outer.asProtocol((any DeclGroupSyntax).self) == nil {
        faults.add(
          "generic", at: position,
          "'\(name)' is generic, and nothing inside of it has a static descriptor; declare a JoinPoint outside of it "
            + "and call withJoinPoint(…) in the method")
        return false
      }
      guard context.dropFirst().allSatisfy({ $0.asProtocol((any DeclGroupSyntax).self) != nil }) else {
        faults.add(
          "genericLocal", at: position,
          "'\(name)' is generic, and its descriptors would be beside it, where only a type or a file can have them; "
            + "move '\(name)' out of the function")
        return false
      }
      let attributes = outer.asProtocol((any WithAttributesSyntax).self)?.attributes
      guard !isInstrumented, attributes?.named("Instrumented").isEmpty != false else { continue }
      faults.add(
        "genericOwner", at: position,
        "'\(name)' is generic, and a generic type has no static descriptors; put @Instrumented on '\(name)', which "
          + "declares the descriptors beside the type, in '\(name)JoinPoints'")
      return false
    }
    return true
  }
#endif

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

    init(_ attribute: AttributeSyntax?, of function: FunctionDeclSyntax, in context: [Syntax]) {
      arguments = attribute.map(Arguments.init)
      position = attribute.map { Syntax($0) } ?? Syntax(function.name)
      self.context = context
    }

    /// The function; `nil` if the function can't have a join point.
    func read(_ function: FunctionDeclSyntax, _ faults: inout Faults) -> InstrumentedFunction? {
      guard isInPlace(function, &faults), hasUsableForm(function, &faults) else { return nil }
      let owner = owner(of: function)
      let names = TypeNames(function, owner: typeName)
      let labels = function.signature.parameterClause.parameters.map {
        $0.firstName.tokenKind == .wildcard ? "_" : $0.firstName.plainName
      }
      let isRoot = arguments?.flag("root", &faults) ?? false
      if isRoot, !function.isOverride, let root = arguments?.expression("root") {
        faults.add("root", at: root, "'\(function.name.plainName)' overrides nothing, so it is a root; remove 'root'")
      }
      let kept = keptParameters(function, names, &faults)
      return InstrumentedFunction(
        position: Syntax(function.name), name: function.name.plainName, labels: labels, givenName: givenName(&faults),
        owner: owner, isInherited: function.isOverride && !isRoot,
        isAsync: function.signature.effectSpecifiers?.asyncSpecifier != nil, throwing: throwing(function),
        access: access(of: function), deprecation: deprecation(of: function), parameters: kept,
        result: functionResult(function, names), place: nil,
        listedName: (path + [function.name.plainName]).joined(separator: ".")
          + "(" + labels.map { $0 + ":" }.joined() + ")")
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

    private func owner(of function: FunctionDeclSyntax) -> InstrumentedFunction.Owner {
      guard let typeName else { return .none }
      return function.isOfType ? .type(typeName) : .instance(of: typeName)
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

    private func throwing(_ function: FunctionDeclSyntax) -> InstrumentedFunction.Throwing {
      guard let clause = function.signature.effectSpecifiers?.throwsClause else { return .never }
      if clause.throwsSpecifier.text == "rethrows" { return .rethrowing }
      switch clause.type?.trimmedDescription {
      case nil, "any Error", "any Swift.Error": return .anyError
      case "Never", "Swift.Never": return .never
      case let type?: return .typed(type)
      }
    }

    /// The descriptor's access level. A property can't be open, and nested types don't see a private property.
    private func access(of function: FunctionDeclSyntax) -> String? {
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

    private func deprecation(of function: FunctionDeclSyntax) -> String? {
      function.attributes.named("available").first { attribute in
        attribute.tokens(viewMode: .sourceAccurate).contains { $0.text == "deprecated" }
      }?.trimmedDescription
    }

    private func keptParameters(
      _ function: FunctionDeclSyntax, _ names: TypeNames, _ faults: inout Faults
    ) -> [KeptParameter] {
      let parameters = function.signature.parameterClause.parameters
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

    private func isInPlace(_ function: FunctionDeclSyntax, _ faults: inout Faults) -> Bool {
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
          "'\(function.name.plainName)' is a local function, which nobody outside could listen to; make it a method, or "
            + "call withJoinPoint(…) with a descriptor declared outside")
        return false
      }
      return checkGeneric(context, at: position, &faults) && checkCopyable(outer, &faults)
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

    private func hasUsableForm(_ function: FunctionDeclSyntax, _ faults: inout Faults) -> Bool {
      let name = function.name.plainName
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
      } else if function.signature.parameterClause.parameters.contains(where: { $0.innerName?.plainName == "self" }) {
        why = "a parameter named self hides the object that hooks are given; give it another name in the body"
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

  /// Notes a fault for the innermost generic type, because generic types have no static stored properties.
  func checkGeneric(_ context: [Syntax], at position: some SyntaxProtocol, _ faults: inout Faults) -> Bool {
    for outer in context {
      guard let generic = outer.asProtocol((any WithGenericParametersSyntax).self),
        generic.genericParameterClause != nil, let name = outer.asProtocol((any NamedDeclSyntax).self)?.name.plainName
      else { continue }
      faults.add(
        "generic", at: position,
        "'\(name)' is generic, and what is generic has no static descriptor; declare a JoinPoint outside of it and call "
          + "withJoinPoint(…) in the method")
      return false
    }
    return true
  }

  extension FunctionDeclSyntax {
    /// `static` or `class`.
    var isOfType: Bool { modifiers.contains { $0.name.text == "static" || $0.name.text == "class" } }

    var isOverride: Bool { modifiers.contains { $0.name.text == "override" } }

    var isOperator: Bool {
      switch name.tokenKind {
      case .binaryOperator, .prefixOperator, .postfixOperator: true
      default: false
      }
    }

    /// The attribute of a result builder, as far as the name shows: by convention, the names of result builders end in
    /// Builder.
    var resultBuilder: String? {
      attributes.lazy.compactMap { $0.as(AttributeSyntax.self)?.lastName }.first { $0.hasSuffix("Builder") }
    }

    var isUnavailable: Bool {
      attributes.named("available").contains { attribute in
        attribute.tokens(viewMode: .sourceAccurate).contains { $0.text == "unavailable" }
      }
    }
  }

  extension AttributeListSyntax {
    /// The first of these names that is the name of an attribute in the list.
    func first(of names: [String]) -> String? {
      names.first { !named($0).isEmpty }
    }
  }
#endif

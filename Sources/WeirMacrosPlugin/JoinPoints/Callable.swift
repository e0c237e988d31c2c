// Callable: the source of a method, a function, an initialiser or an accessor, in one form for the macros that read it.

#if Macros
  import SwiftSyntax

  struct Callable {
    enum Kind: Equatable {
      case function
      /// Whether the initialiser may return nil.
      case initializer(isFailable: Bool)
      case accessor
    }

    var kind: Kind

    /// The base name without backticks. For an accessor the name of the property or `subscript`; empty if the macro
    /// sees the accessor alone.
    var name: String

    /// `get`, `set`, `willSet` or `didSet`; empty if the declaration is no accessor.
    var accessorName = ""

    /// The place of messages about the declaration: its name.
    var position: TokenSyntax

    var attributes: AttributeListSyntax
    var modifiers: DeclModifierListSyntax
    var parameters: [FunctionParameterSyntax]
    var genericParameters: GenericParameterClauseSyntax?
    var genericWhere: GenericWhereClauseSyntax?
    var isAsync: Bool
    var throwsClause: ThrowsClauseSyntax?

    /// The type of the result; `nil` if there is no result, and if the macro does not see the type.
    var returnType: TypeSyntax?

    /// The type of the property or subscript that has the accessor; `nil` if the macro does not see the type.
    var valueType: TypeSyntax?

    var body: CodeBlockSyntax?

    /// The whole declaration.
    var source: Syntax

    /// The effects and the result of a function, for a local function with the same.
    var signature: FunctionSignatureSyntax?

    init(_ function: FunctionDeclSyntax) {
      kind = .function
      name = function.name.plainName
      position = function.name
      attributes = function.attributes
      modifiers = function.modifiers
      parameters = Array(function.signature.parameterClause.parameters)
      genericParameters = function.genericParameterClause
      genericWhere = function.genericWhereClause
      isAsync = function.signature.effectSpecifiers?.asyncSpecifier != nil
      throwsClause = function.signature.effectSpecifiers?.throwsClause
      returnType = function.signature.returnClause?.type
      body = function.body
      source = Syntax(function)
      signature = function.signature
    }

    init(_ initializer: InitializerDeclSyntax) {
      kind = .initializer(isFailable: initializer.optionalMark != nil)
      name = "init"
      position = initializer.initKeyword
      attributes = initializer.attributes
      modifiers = initializer.modifiers
      parameters = Array(initializer.signature.parameterClause.parameters)
      genericParameters = initializer.genericParameterClause
      genericWhere = initializer.genericWhereClause
      isAsync = initializer.signature.effectSpecifiers?.asyncSpecifier != nil
      throwsClause = initializer.signature.effectSpecifiers?.throwsClause
      body = initializer.body
      source = Syntax(initializer)
    }

    /// An accessor of a subscript, or, as far as the accessor itself shows, of a property.
    init(_ accessor: AccessorDeclSyntax, of outer: SubscriptDeclSyntax?) {
      kind = .accessor
      accessorName = accessor.accessorSpecifier.text
      name = outer == nil ? "" : "subscript"
      position = accessor.accessorSpecifier
      attributes = accessor.attributes
      modifiers = outer?.modifiers ?? []
      parameters = outer.map { Array($0.parameterClause.parameters) } ?? []
      genericParameters = outer?.genericParameterClause
      genericWhere = outer?.genericWhereClause
      isAsync = accessor.effectSpecifiers?.asyncSpecifier != nil
      throwsClause = accessor.effectSpecifiers?.throwsClause
      body = accessor.body
      source = Syntax(accessor)
      if let type = outer?.returnClause.type { set(type) }
      if let outer { attributes += outer.attributes }
    }

    /// An accessor of a property. The type of the property is `nil` if the source leaves it to be inferred.
    init(_ accessor: AccessorDeclSyntax, of property: VariableDeclSyntax, _ binding: PatternBindingSyntax) {
      self.init(accessor, of: nil)
      name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.plainName ?? ""
      modifiers = property.modifiers
      attributes += property.attributes
      if let type = binding.typeAnnotation?.type { set(type) }
    }

    private mutating func set(_ type: TypeSyntax) {
      valueType = type
      if accessorName == "get" { returnType = type }
    }

    /// The name of the value that a setter or an observer is given, as the join point and as the body call it. `nil`
    /// for a getter, and for a `didSet` that does not ask for the old value: to hand that over, the compiler would copy
    /// the whole value at each change.
    var assigned: (label: String, value: String)? {
      guard kind == .accessor, let accessor = source.as(AccessorDeclSyntax.self) else { return nil }
      let given = accessor.parameters?.name.plainName
      switch accessorName {
      case "set", "willSet": return ("newValue", given ?? "newValue")
      case "didSet":
        if let given { return ("oldValue", given) }
        let isAsked = body?.tokens(viewMode: .sourceAccurate).contains { $0.text == "oldValue" } ?? false
        return isAsked ? ("oldValue", "oldValue") : nil
      default: return nil
      }
    }

    /// The labels of the parameters, `_` for none. Of a subscript, a parameter with one name has no label.
    var labels: [String] {
      parameters.map { parameter in
        let isLabel = parameter.firstName.tokenKind != .wildcard && (kind != .accessor || parameter.secondName != nil)
        return isLabel ? parameter.firstName.plainName : "_"
      }
    }

    /// `like(_:at:)`, `title.get`.
    var fullName: String {
      let named = kind == .accessor && name != "subscript" ? name : name + "(" + labels.map { $0 + ":" }.joined() + ")"
      return ([named, accessorName].filter { !$0.isEmpty }).joined(separator: ".")
    }

    /// The attribute @JoinPoint.
    var joinPoint: AttributeSyntax? { attributes.named("JoinPoint").first }

    /// `static` or `class`.
    var isOfType: Bool { modifiers.contains { $0.name.text == "static" || $0.name.text == "class" } }

    var isOverride: Bool { modifiers.contains { $0.name.text == "override" } }

    var isInitializer: Bool { if case .initializer = kind { true } else { false } }

    var isOperator: Bool {
      switch position.tokenKind {
      case .binaryOperator, .prefixOperator, .postfixOperator: true
      default: false
      }
    }

    /// The attribute of a result builder, as far as the name shows: by convention, the names of result builders end in
    /// Builder.
    var resultBuilder: String? {
      attributes.lazy.compactMap { $0.as(AttributeSyntax.self)?.lastName }.first { $0.hasSuffix("Builder") }
    }

    var isUnavailable: Bool { attributes.available("unavailable") != nil }
  }

  extension AttributeListSyntax {
    /// The attribute @available with this word, such as `deprecated`.
    func available(_ word: String) -> AttributeSyntax? {
      named("available").first { attribute in
        attribute.tokens(viewMode: .sourceAccurate).contains { $0.text == word }
      }
    }

    /// The first of these names that is the name of an attribute in the list.
    func first(of names: [String]) -> String? {
      names.first { !named($0).isEmpty }
    }
  }
#endif

// SignatureReading: the parameters and the result that advice receives, with their types in the descriptor. The macro
// sees types as source, so a type that only looks like an ordinary type must be left out with `omit`.

#if Macros
  import SwiftSyntaxBuilder
  import SwiftSyntax

  /// The names that have a meaning only within a function, or within a generic type.
  struct TypeNames {
    /// The generic parameters of the function and of its type.
    var generic: Set<String>

    /// The type to write for `Self` in a static property.
    var owner: String?

    /// Whether the type is generic. Beside the type, neither `Self` nor the type's bare name then has a meaning.
    var isOwnerGeneric: Bool

    /// Whether a generic parameter may be a type that can't be copied.
    var haveUncopyable: Bool

    init(_ function: Callable, owner: String?, ofGeneric type: GenericParameterClauseSyntax?) {
      let clauses = [function.genericParameters, type].compactMap { $0 }
      generic = Set(clauses.flatMap { $0.parameters.map(\.name.text) })
      self.owner = owner
      isOwnerGeneric = type != nil
      haveUncopyable = (clauses.map { Syntax($0) } + [Syntax(function.genericWhere)].compactMap { $0 }).contains {
        suppressesCopyable($0)
      }
    }
  }

  private func suppressesCopyable(_ node: Syntax) -> Bool {
    node.tokens(viewMode: .sourceAccurate).contains { $0.text == "~" }
  }

  // MARK: Parameters

  extension FunctionParameterSyntax {
    /// The name in the body; `nil` if the parameter has none.
    var innerName: TokenSyntax? {
      let name = secondName ?? firstName
      return name.tokenKind == .wildcard ? nil : name
    }

    /// The parameter as advice receives it; `nil` if the parameter can't be kept.
    func kept(_ names: TypeNames) -> KeptParameter? {
      guard let inner = innerName, let type = keptType(self.type, names) else { return nil }
      let value = identifier(inner.plainName)
      let label = inner.argumentLabel
      if isOfFunction(type, names) {
        return KeptParameter(label: label, type: "Any", value: "\(value) as Any")
      }
      let text = descriptorType(type, names)
      return KeptParameter(label: label, type: ellipsis == nil ? text : "[\(text)]", value: value)
    }
  }

  /// The type in which a value can be kept; `nil` if a value can't outlive the call, or must not be copied.
  private func keptType(_ type: TypeSyntax, _ names: TypeNames) -> TypeSyntax? {
    let plain = withoutParentheses(type)
    if plain.is(FunctionTypeSyntax.self) || plain.is(PackExpansionTypeSyntax.self) { return nil }
    if let named = plain.as(IdentifierTypeSyntax.self), neverEscaping.contains(named.name.text) { return nil }
    guard let attributed = plain.as(AttributedTypeSyntax.self) else {
      return suppressesCopyable(Syntax(plain)) || plain.is(SuppressedTypeSyntax.self) ? nil : type
    }
    let specifiers = attributed.specifiers.map(\.trimmedDescription)
    guard specifiers.allSatisfy({ $0 == "inout" }) else { return nil }
    if !specifiers.isEmpty, names.haveUncopyable, isOfFunction(attributed.baseType, names) { return nil }
    let attributes = attributed.attributes.map(\.trimmedDescription)
    guard !attributes.contains("@autoclosure") else { return nil }
    guard withoutParentheses(attributed.baseType).is(FunctionTypeSyntax.self) else {
      return keptType(attributed.baseType, names)
    }
    guard attributes.contains("@escaping") else { return nil }
    let others = attributes.filter { $0 != "@escaping" }
    return TypeSyntax(stringLiteral: (others + [attributed.baseType.trimmedDescription]).joined(separator: " "))
  }

  /// The standard library's views of memory, which can't outlive the memory.
  private let neverEscaping: Set = [
    "Span", "RawSpan", "UTF8Span", "MutableSpan", "MutableRawSpan", "OutputSpan", "OutputRawSpan",
  ]

  /// Removes parentheses: `(T)` is T.
  private func withoutParentheses(_ type: TypeSyntax) -> TypeSyntax {
    guard let tuple = type.as(TupleTypeSyntax.self), let only = tuple.elements.first, tuple.elements.count == 1 else {
      return type
    }
    return withoutParentheses(only.type)
  }

  // MARK: The result

  /// The part of a function's result that advice receives.
  func functionResult(_ returnType: TypeSyntax?, _ names: TypeNames) -> FunctionResult {
    guard let type = returnType else { return .nothing }
    let plain = withoutParentheses(type)
    let text = plain.trimmedDescription
    if text == "Void" || text == "Swift.Void" || plain.as(TupleTypeSyntax.self)?.elements.isEmpty == true {
      return .nothing
    }
    if text == "Never" || text == "Swift.Never" { return .never }
    let specifiers = plain.as(AttributedTypeSyntax.self)?.specifiers.map(\.trimmedDescription) ?? []
    // Nobody else may use a `sending` result, not even advice.
    if specifiers.contains("sending") || suppressesCopyable(Syntax(plain)) { return .unkept }
    if isOfFunction(plain, names) { return .value("Any", .init(type: text, isStructural: false)) }
    return .value(descriptorType(plain, names), .init(type: text, isStructural: isStructural(plain)))
  }

  private func isStructural(_ type: TypeSyntax) -> Bool {
    if let optional = type.as(OptionalTypeSyntax.self) { return isStructural(withoutParentheses(optional.wrappedType)) }
    if let attributed = type.as(AttributedTypeSyntax.self) { return isStructural(attributed.baseType) }
    return type.is(FunctionTypeSyntax.self) || type.is(TupleTypeSyntax.self)
  }

  // MARK: Types

  /// Whether the type has a meaning only within the function or its generic type: it mentions a generic parameter, or
  /// is opaque.
  func isOfFunction(_ type: TypeSyntax, _ names: TypeNames) -> Bool {
    let search = FunctionTypeSearch(names)
    search.walk(type)
    return search.found
  }

  private final class FunctionTypeSearch: SyntaxVisitor {
    let names: TypeNames
    var found = false

    init(_ names: TypeNames) {
      self.names = names
      super.init(viewMode: .sourceAccurate)
    }

    override func visit(_ node: IdentifierTypeSyntax) -> SyntaxVisitorContinueKind {
      let name = node.name.text
      if names.generic.contains(name) { found = true }
      if names.isOwnerGeneric, name == "Self" || name == names.owner && node.genericArgumentClause == nil {
        found = true
      }
      return .visitChildren
    }

    override func visit(_ node: SomeOrAnyTypeSyntax) -> SyntaxVisitorContinueKind {
      if node.someOrAnySpecifier.text == "some" { found = true }
      return .visitChildren
    }
  }

  /// The type for a static property: with the owner's name for `Self`, and `?` for `!`.
  func descriptorType(_ type: TypeSyntax, _ names: TypeNames) -> String {
    if let unwrapped = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return descriptorType(unwrapped.wrappedType, names) + "?"
    }
    guard let owner = names.owner else { return type.trimmedDescription }
    return SelfRewriter(owner).rewrite(type).trimmedDescription
  }

  private final class SelfRewriter: SyntaxRewriter {
    let owner: String

    init(_ owner: String) {
      self.owner = owner
      super.init()
    }

    override func visit(_ node: IdentifierTypeSyntax) -> TypeSyntax {
      guard node.name.text == "Self" else { return super.visit(node) }
      return TypeSyntax(stringLiteral: owner).with(\.leadingTrivia, node.leadingTrivia).with(
        \.trailingTrivia, node.trailingTrivia)
    }
  }
#endif

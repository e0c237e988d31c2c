// FieldTypes: the types that no field can have, as far as the source shows. The compiler checks in the expansion that
// all other types conform to EventValue.

#if Macros
  import SwiftSyntax

  /// Why no field can have this type, and what to do; `nil` if a field may have the type.
  func refusal(of type: TypeSyntax) -> String? {
    let structure = "make it a structure that conforms to EventValue"
    if let tuple = type.as(TupleTypeSyntax.self) {
      if let only = tuple.elements.first, tuple.elements.count == 1 { return refusal(of: only.type) }
      return tuple.elements.isEmpty ? "nothing to store; leave it out" : "a tuple; \(structure)"
    }
    if let wrapped = wrappedType(of: type) {
      if isOptional(wrapped) { return "an optional of an optional, and a log has one nil; remove one of the two" }
      return refusal(of: wrapped)
    }
    if let array = type.as(ArrayTypeSyntax.self) { return refusal(of: array.element) }
    if type.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return "unwrapped without a check; write ? in place of !" }
    if type.is(FunctionTypeSyntax.self) { return "a function, which can't be stored; store what it would answer" }
    if type.is(SomeOrAnyTypeSyntax.self) || type.is(CompositionTypeSyntax.self) {
      return "a protocol, whose values have no kind of their own; use a type that conforms to EventValue, or FieldValue"
    }
    if type.is(MetatypeTypeSyntax.self) { return "a type; store its name, a String" }
    if type.is(DictionaryTypeSyntax.self) { return dictionary }
    if type.is(InlineArrayTypeSyntax.self) { return "an inline array; use an array" }
    if let attributed = type.as(AttributedTypeSyntax.self) {
      let isInout = attributed.specifiers.contains {
        $0.as(SimpleTypeSpecifierSyntax.self)?.specifier.text == "inout"
      }
      return isInout ? "inout, which no stored value can be; leave it out" : refusal(of: attributed.baseType)
    }
    return refusal(ofNamed: type)
  }

  /// The wrapped type of Optional<T> or T?; `nil` for all other types.
  private func wrappedType(of type: TypeSyntax) -> TypeSyntax? {
    if let optional = type.as(OptionalTypeSyntax.self) { return optional.wrappedType }
    let arguments: GenericArgumentClauseSyntax?
    if let identifier = type.as(IdentifierTypeSyntax.self), identifier.name.text == "Optional" {
      arguments = identifier.genericArgumentClause
    } else if let member = type.as(MemberTypeSyntax.self), member.baseType.trimmedDescription == "Swift",
      member.name.text == "Optional"
    {
      arguments = member.genericArgumentClause
    } else {
      return nil
    }
    guard case .type(let wrapped) = arguments?.arguments.first?.argument else { return nil }
    return wrapped
  }

  private func isOptional(_ type: TypeSyntax) -> Bool {
    if let tuple = type.as(TupleTypeSyntax.self), let only = tuple.elements.first, tuple.elements.count == 1 {
      return isOptional(only.type)
    }
    return wrappedType(of: type) != nil
  }

  private let dictionary =
    "a dictionary; use an array of structures that conform to EventValue, or FieldValue, which takes any object"

  private func refusal(ofNamed type: TypeSyntax) -> String? {
    let name: String
    let arguments: GenericArgumentClauseSyntax?
    if let identifier = type.as(IdentifierTypeSyntax.self) {
      (name, arguments) = (identifier.name.text, identifier.genericArgumentClause)
    } else if let member = type.as(MemberTypeSyntax.self), member.baseType.trimmedDescription == "Swift" {
      (name, arguments) = (member.name.text, member.genericArgumentClause)
    } else {
      return nil
    }
    switch name {
    case "Any", "AnyObject":
      return "of no particular type; use a type that conforms to EventValue, or FieldValue"
    case "Self": return "the event itself; an event can't hold another one"
    case "Void": return "nothing to store; leave it out"
    case "Dictionary": return dictionary
    case "Array":
      guard let arguments else { return nil }
      for argument in arguments.arguments {
        if case .type(let inner) = argument.argument, let why = refusal(of: inner) { return why }
      }
      return nil
    default: return nil
    }
  }

  extension Faults {
    /// Notes a fault if no field can have the type.
    mutating func checkType(of field: String, _ type: TypeSyntax) {
      guard let why = refusal(of: type) else { return }
      add("unsupportedType", at: type, "'\(field)' can't be a field: '\(type.trimmedDescription)' is \(why)")
    }
  }
#endif

// InstrumentedFunction: a method, function, initialiser or accessor with a join point, independent of its syntax.

#if Macros
  import SwiftSyntax

  /// A function with a join point.
  struct InstrumentedFunction {
    /// The place of messages about the function: its name.
    var position: Syntax

    /// What the function is.
    var kind: Callable.Kind

    /// The name without backticks.
    var name: String

    /// The full name as in `only` and `except`: `like(_:at:)`.
    var fullName: String

    /// The labels of the function's parameters, `_` for none.
    var labels: [String]

    /// The name that was given to @JoinPoint.
    var givenName: String?

    var owner: Owner

    /// The generic type that has the function; `nil` for a type without generic parameters, and at file scope.
    var genericOwner: GenericOwner?

    /// Whether the function uses the join point of the overridden method.
    var isInherited: Bool

    var isAsync: Bool
    var throwing: Throwing

    /// The descriptor's access modifier; `nil` for none.
    var access: String?

    /// The @available attribute that deprecates the function, whose types may be deprecated too.
    var deprecation: String?

    /// The parameters that advice receives.
    var parameters: [KeptParameter]

    var result: FunctionResult

    /// The place of the declaration: literals of the file and the line.
    var place: (file: String, line: String)?

    /// The name in the listing, `ItemPage.like(_:)`.
    var listedName: String

    enum Throwing: Equatable {
      case never, anyError, rethrowing
      case typed(String)
    }

    /// The kind of owner.
    enum Owner: Equatable {
      /// A method of a type's instances.
      case instance(of: String)
      /// A `static` or `class` method.
      case type(String)
      /// A function at file scope.
      case none
    }

    /// A generic type, which can't have static stored properties: its descriptors are in an enum beside the type.
    struct GenericOwner: Equatable {
      var name: String
      /// A class or an actor.
      var isClass: Bool

      /// The type of the objects in the descriptors. Descriptors are shared by all types that the generic type makes.
      var type: String { isClass ? "AnyObject" : "Any" }

      /// The enum with the descriptors.
      var home: String { name + "JoinPoints" }
    }

    /// The descriptor's name, from the base name and the labels alone, so that an override finds the descriptor without
    /// seeing the superclass.
    var descriptorName: String {
      if owner == .none { return identifier(name + "JoinPoint") }
      return identifier("weirJoinPoint_" + stem)
    }

    var recordName: String {
      owner == .none ? identifier(name + "JoinPointRecord") : identifier("weirRecord_" + stem)
    }

    private var stem: String {
      let stem = givenName ?? ([name] + labels).joined(separator: "_")
      guard case .initializer = kind, let typeName else { return stem }
      // Each class has initialisers of its own, whatever the names of the superclass's initialisers are.
      return typeName.replacing(".", with: "_") + "_" + stem
    }

    /// The type that contains the function, by the name that the body uses; `nil` at file scope.
    var typeName: String? {
      switch owner {
      case .instance(let type), .type(let type): type
      case .none: nil
      }
    }

    /// The name in `JoinPoints` if the base name is unique. `init` can't be the name of a property.
    var shortName: String {
      guard case .initializer = kind else { return name }
      return longName == name ? "initializer" : longName
    }

    /// `likeAt` for `like(_:at:)`: the name if two methods have the same base name.
    var longName: String {
      name + labels.filter { $0 != "_" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
  }

  /// A parameter that advice receives.
  struct KeptParameter {
    /// The parameter's label in the tuple.
    var label: String

    /// The type in the tuple; `Any` for a type that only the function knows.
    var type: String

    /// The expression that is passed.
    var value: String

    /// The same in an override, where the overridden method may be of a generic class, and the join point may have
    /// `Any` for this type. The compiler warns of optionals that become `Any` by themselves.
    func passed(by call: String) -> String {
      let mayBeOptional = type.isEmpty || type.hasSuffix("?") || type.hasPrefix("Optional<")
      return mayBeOptional && !value.hasSuffix(" as Any") ? "\(call).passed(\(value))" : value
    }
  }

  /// The part of a function's result that advice receives.
  enum FunctionResult: Equatable {
    /// The function returns nothing.
    case nothing

    /// The function never returns.
    case never

    /// An initialiser, whose result is the object. The type is the type of the result in the descriptor.
    case object(String, isFailable: Bool)

    /// The function returns a value that can't be kept.
    case unkept

    /// A value, with its type in the descriptor.
    case value(String, Spelling)

    /// The type in the function's declaration.
    struct Spelling: Equatable {
      /// `nil` for the getter of a property, whose accessor does not name the type.
      var type: String?

      /// A function or a tuple.
      var isStructural: Bool
    }
  }

  /// A name as in code: with backticks if the name needs them.
  func identifier(_ name: String) -> String {
    isPlainIdentifier(name) ? name : "`\(name)`"
  }

  /// Whether the text consists of letters, digits and underscores, and is no keyword.
  func isPlainIdentifier(_ name: String) -> Bool {
    let scalars = name.unicodeScalars
    guard let first = scalars.first, first == "_" || first.properties.isXIDStart else { return false }
    return scalars.allSatisfy(\.properties.isXIDContinue) && !reservedWords.contains(name)
  }

  /// The keywords that can't name a variable without backticks.
  let reservedWords: Set = [
    "associatedtype", "class", "deinit", "enum", "extension", "fileprivate", "func", "import", "init", "inout",
    "internal", "let", "operator", "precedencegroup", "private", "protocol", "public", "rethrows", "static", "struct",
    "subscript", "typealias", "var", "break", "case", "catch", "continue", "default", "defer", "do", "else",
    "fallthrough", "for", "guard", "if", "in", "repeat", "return", "switch", "throw", "throws", "where", "while", "Any",
    "as", "await", "false", "is", "nil", "self", "Self", "super", "true", "try", "_",
  ]
#endif

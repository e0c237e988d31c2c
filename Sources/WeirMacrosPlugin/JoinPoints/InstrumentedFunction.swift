// InstrumentedFunction: what a method or function with a join point says, free of how it says it.

#if Macros
  import SwiftSyntax

  /// A function with a join point.
  struct InstrumentedFunction {
    /// Where messages about it point: its name.
    var position: Syntax

    /// The name without backticks.
    var name: String

    /// The labels of its parameters, `_` for none.
    var labels: [String]

    /// The name that was given to @JoinPoint.
    var givenName: String?

    var owner: Owner

    /// It uses the join point of the method that it overrides.
    var isInherited: Bool

    var isAsync: Bool
    var throwing: Throwing

    /// What the descriptor is declared with; nil for nothing.
    var access: String?

    /// @available, where it says that the function is deprecated: its types may be, too.
    var deprecation: String?

    /// Those that reach the advice.
    var parameters: [KeptParameter]

    var result: FunctionResult

    /// Where it is declared: literals of the file and the line.
    var place: (file: String, line: String)?

    /// As it is listed, `ItemPage.like(_:)`.
    var listedName: String

    enum Throwing: Equatable {
      case never, anyError, rethrowing
      case typed(String)
    }

    /// Whose function it is.
    enum Owner: Equatable {
      /// Of instances of a type.
      case instance(of: String)
      /// `static` or `class`.
      case type(String)
      /// At file scope.
      case none
    }

    /// `like(_:at:)`, as `only` and `except` name it.
    var fullName: String { name + "(" + labels.map { $0 + ":" }.joined() + ")" }

    /// Of the base name and the labels alone, so that an override finds it without a look at its class.
    var descriptorName: String {
      if owner == .none { return identifier(name + "JoinPoint") }
      return identifier("weirJoinPoint_" + stem)
    }

    var recordName: String {
      owner == .none ? identifier(name + "JoinPointRecord") : identifier("weirRecord_" + stem)
    }

    private var stem: String { givenName ?? ([name] + labels).joined(separator: "_") }

    /// `likeAt` for `like(_:at:)`: where two have the same base name.
    var longName: String {
      name + labels.filter { $0 != "_" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
  }

  /// A parameter that reaches the advice.
  struct KeptParameter {
    /// Its label in the tuple.
    var label: String

    /// The type there, `Any` for one that only the function knows.
    var type: String

    /// What is passed.
    var value: String
  }

  /// What of a function's result reaches the advice.
  enum FunctionResult: Equatable {
    /// Nothing is returned.
    case nothing

    /// It never returns.
    case never

    /// Something is returned that can't be kept.
    case unkept

    /// A value, with its type in the descriptor.
    case value(String, Spelling)

    /// The type as the function has it.
    struct Spelling: Equatable {
      var type: String

      /// A function or a tuple.
      var isStructural: Bool
    }
  }

  /// A name as code has it: in backticks if it needs them.
  func identifier(_ name: String) -> String {
    isPlainIdentifier(name) ? name : "`\(name)`"
  }

  /// Letters, digits and underscores, and no keyword.
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

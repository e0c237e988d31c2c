// The declarations of the macros: @Event for a type, @Case and @Field for what is to be said about its parts.
//
// Only with the trait Macros: without it nobody fetches swift-syntax.
//
// @Event's members are not listed by name: of members of an enum that are, Swift 6.3 shows no error, neither the
// macro's nor its own, and then crashes or takes them. CompilerTests has sources whose errors must be seen.

#if Macros
  /// Makes an enum or a structure an ``Event``: writes its names, declarations, encoding and decoding.
  ///
  /// ```swift
  /// import Weir
  ///
  /// @Event("checkout")
  /// enum Checkout {
  ///   case started(cart: UInt64)
  ///
  ///   @Case("finished", kind: .pageAction, formerly: ["completed"])
  ///   @Field("amount", of: "total", formerly: ["sum"])
  ///   @Field(of: "email", sensitive: true)
  ///   case done(order: UInt64, total: Double, email: String?, items: Int32 = 1)
  /// }
  /// ```
  ///
  /// Each case is an event, and each of its associated values a field of a type that conforms to ``EventValue``.
  /// The events above are named `checkout.started` and `checkout.finished`. Without arguments, names are those that
  /// `Codable` gives, `Checkout.started`, so that a type that moves from `Codable` to this macro reads its old log.
  /// A structure is one event, whose fields are its stored properties:
  ///
  /// ```swift
  /// @Event("purchase", kind: .systemAction)
  /// struct Purchase {
  ///   var order: UInt64
  ///   @Field("amount", formerly: ["sum"], sensitive: true) var total: Double
  ///   var items: Int32 = 1
  /// }
  /// ```
  ///
  /// **Reading older and newer logs.** An event is found by its wire id, then by its name, then by its former names,
  /// and a field by its name, then by its former names. A field that an event does not have is nil if it is optional,
  /// and its default value if it has one; otherwise reading throws a ``FieldError``. Fields that the type does not
  /// have are passed over. Events that it does not know are not of the type.
  ///
  /// **Wire ids.** An event's id is the 32-bit FNV-1a hash of the name that it had first (the first of the former ones,
  /// if any), so it stays when the event is renamed with `formerly`, and never depends on the order of the cases. Or
  /// give it a number of your own, which no other event of the same prefix has or had: it stays whatever is renamed
  /// after the prefix.
  ///
  /// **Cost.** That of the encoding written by hand, into which the macro expands.
  ///
  /// Refused with a message that says what to do: values without labels, two events or fields of one name or id,
  /// types that no field can have, conditional compilation of cases, generic types, classes, indirect cases, names that
  /// are empty, longer than 1,024 bytes or begin with `weir.`, and arguments that are not literals.
  ///
  /// - Parameters:
  ///   - name: The prefix of the events' names, or the whole name of a structure's event. The type's name unless given.
  ///   - kind: The kind of the events that do not say their own.
  ///   - id: The wire id of a structure's event.
  ///   - formerly: Prefixes that the events had in earlier versions of the program, or names of a structure's event;
  ///     the first one first.
  ///   - retired: Events that are gone, by wire id or by name (without the prefix), whose ids no case may take: logs
  ///     that have them would be read as something else.
  @attached(member, names: arbitrary)
  @attached(extension, conformances: Event, names: named(init(_:)))
  public macro Event(
    _ name: String? = nil, kind: EventKind? = nil, id: UInt32? = nil, formerly: [String] = [],
    retired: [RetiredEvent] = []
  ) = #externalMacro(module: "WeirMacrosPlugin", type: "EventMacro")

  /// Says how a case of an enum with ``Event(_:kind:id:formerly:retired:)`` is stored, where that is not by its name
  /// alone. Expands to nothing.
  ///
  /// ```swift
  /// @Case("finished", kind: .pageAction, formerly: ["completed", "done"])
  /// case finishedCheckout(order: UInt64)
  /// ```
  ///
  /// - Parameters:
  ///   - name: The event's name in the log, after the prefix and a dot. The case's name unless given.
  ///   - id: The event's wire id. A hash of its first name unless given.
  ///   - kind: The event's kind. That of the enum unless given.
  ///   - formerly: Names, without the prefix, that earlier versions of the program stored the event under; the first
  ///     one first.
  @attached(peer)
  public macro Case(
    _ name: String? = nil, id: UInt32? = nil, kind: EventKind? = nil, formerly: [String] = []
  ) = #externalMacro(module: "WeirMacrosPlugin", type: "CaseMacro")

  /// Says how a field of a type with ``Event(_:kind:id:formerly:retired:)`` is stored. Expands to nothing.
  ///
  /// On a stored property of a structure it is about that property; on a case of an enum, about the associated value
  /// that `of` names, and it may stand there once for each of them.
  ///
  /// ```swift
  /// @Field("amount", of: "total", formerly: ["sum"])
  /// @Field(of: "email", sensitive: true)
  /// case completed(order: UInt64, total: Double, email: String?)
  /// ```
  ///
  /// - Parameters:
  ///   - name: The field's name in the log. The label or the property's name unless given.
  ///   - of: The label of the associated value.
  ///   - formerly: Names that earlier versions of the program stored the field under.
  ///   - sensitive: What the field holds must not leave the process as it is: see ``Weir/Field/isSensitive``.
  @attached(peer)
  public macro Field(
    _ name: String? = nil, of value: String? = nil, formerly: [String] = [], sensitive: Bool = false
  ) = #externalMacro(module: "WeirMacrosPlugin", type: "FieldMacro")

  /// An event that a type had once: a wire id, or a name without the prefix, written as a literal.
  ///
  /// ```swift
  /// @Event("checkout", retired: [7, "cancelled"])
  /// ```
  public enum RetiredEvent: Hashable, Sendable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    case id(UInt32)
    case name(String)

    public init(integerLiteral value: UInt32) { self = .id(value) }
    public init(stringLiteral value: String) { self = .name(value) }
  }
#endif

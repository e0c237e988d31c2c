// The declarations of the macros: @Event for a type, @Case and @Field for its cases and fields.
//
// Only with the trait Macros: without the trait, swift-syntax is not downloaded.
//
// @Event does not list the names of its members. If it did, Swift 6.3 would show no errors for an enum, neither the
// macro's nor its own, and would then crash or accept the enum. CompilerTests has sources whose errors must be shown.

#if Macros
  /// Makes an enum or a structure an ``Event``: generates the declarations, the encoding and the decoding.
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
  /// Each case is an event. Each associated value is a field, and its type must conform to ``EventValue``. The events
  /// above are named `checkout.started` and `checkout.finished`. Without a name, the macro uses the names that
  /// `Codable` gives, such as `Checkout.started`, so a type that moves from `Codable` to this macro can read its old
  /// log.
  ///
  /// A structure is one event, and its stored properties are the fields:
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
  /// **Reading older and newer logs.** An event is found by its wire id, then by its name, then by its former names. A
  /// field is found by its name, then by its former names. If an event does not have a field, an optional field is
  /// `nil`, and a field with a default value has that value. Otherwise reading throws a ``FieldError``. Fields that the
  /// type does not declare are ignored. Events that the type does not declare are not events of the type.
  ///
  /// **Wire ids.** An event's default wire id is the 32-bit FNV-1a hash of the event's first name, which is the first
  /// former name if there is one. The id therefore stays the same when the event is renamed with `formerly`, and does
  /// not depend on the order of the cases. If you give an id, choose a number that no other event of the same prefix
  /// has or had. That id stays the same whatever is renamed after the prefix.
  ///
  /// **Cost.** The macro expands into the encoding that one would write by hand, and costs the same.
  ///
  /// **Errors.** The compiler reports, with a remedy: values without labels, two events or fields with the same name or
  /// id, types that are no field types, conditional compilation of cases, generic types, classes, indirect cases, names
  /// that are empty, longer than 1,024 bytes or start with `weir.`, and arguments that are not literals.
  ///
  /// - Parameters:
  ///   - name: The prefix of the event names, or the whole name of a structure's event. The default is the type's name.
  ///   - kind: The kind of the events that don't declare a kind of their own.
  ///   - id: The wire id of a structure's event.
  ///   - formerly: The prefixes of the events in earlier versions of the program, or the former names of a structure's
  ///     event, oldest first.
  ///   - retired: Events that no longer exist, by wire id or by name without the prefix. No case may take their ids:
  ///     old logs would be misread.
  @attached(member, names: arbitrary)
  @attached(extension, conformances: Event, names: named(init(_:)))
  public macro Event(
    _ name: String? = nil, kind: EventKind? = nil, id: UInt32? = nil, formerly: [String] = [],
    retired: [RetiredEvent] = []
  ) = #externalMacro(module: "WeirMacrosPlugin", type: "EventMacro")

  /// Sets how a case of an enum with ``Event(_:kind:id:formerly:retired:)`` is stored. Expands to nothing.
  ///
  /// ```swift
  /// @Case("finished", kind: .pageAction, formerly: ["completed", "done"])
  /// case finishedCheckout(order: UInt64)
  /// ```
  ///
  /// - Parameters:
  ///   - name: The event's name in the log, after the prefix and a dot. The default is the case's name.
  ///   - id: The event's wire id. The default is a hash of the event's first name.
  ///   - kind: The event's kind. The default is the enum's kind.
  ///   - formerly: The event's names in earlier versions of the program, without the prefix, oldest first.
  @attached(peer)
  public macro Case(
    _ name: String? = nil, id: UInt32? = nil, kind: EventKind? = nil, formerly: [String] = []
  ) = #externalMacro(module: "WeirMacrosPlugin", type: "CaseMacro")

  /// Sets how a field of a type with ``Event(_:kind:id:formerly:retired:)`` is stored. Expands to nothing.
  ///
  /// On a stored property of a structure, the attribute applies to the property. On a case of an enum, it applies to
  /// the associated value named by `of`, and may be repeated for other values.
  ///
  /// ```swift
  /// @Field("amount", of: "total", formerly: ["sum"])
  /// @Field(of: "email", sensitive: true)
  /// case completed(order: UInt64, total: Double, email: String?)
  /// ```
  ///
  /// - Parameters:
  ///   - name: The field's name in the log. The default is the label, or the property's name.
  ///   - of: The label of the associated value.
  ///   - formerly: The field's names in earlier versions of the program.
  ///   - sensitive: Whether the field's value must not leave the process unredacted. See ``Weir/Field/isSensitive``.
  @attached(peer)
  public macro Field(
    _ name: String? = nil, of value: String? = nil, formerly: [String] = [], sensitive: Bool = false
  ) = #externalMacro(module: "WeirMacrosPlugin", type: "FieldMacro")

  /// An event that a type no longer has: a wire id, or a name without the prefix, as a literal.
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

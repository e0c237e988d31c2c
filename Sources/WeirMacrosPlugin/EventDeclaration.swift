// EventDeclaration: a type with @Event, independent of its syntax.

#if Macros
  import SwiftSyntax

  /// A type with @Event.
  struct EventDeclaration {
    /// `enum` has a case for each event, `struct` is one event.
    enum Form { case enumeration, structure }

    var form: Form

    /// The place of messages about the whole type: its name.
    var position: Syntax

    /// The place of messages about ``name``.
    var namePosition: Syntax

    /// The prefix of the events' names; for a structure, the event's name.
    var name: String

    /// The access modifier of the extension's members, such as `public`; `nil` for none.
    var access: String?

    /// Whether the encoding may be compiled into other modules, because all declarations that it uses are public.
    var isInlinable: Bool

    /// Whether the type itself is deprecated.
    var isDeprecated = false

    /// Whether a case or a stored property is deprecated.
    var hasDeprecated = false

    var events: [EventCase]

    var retired: [Retired]
  }

  /// A retired event.
  struct Retired {
    var id: UInt32

    /// The whole name that the event would have now; `nil` if only the id is known.
    var name: String?

    /// As the source has it.
    var text: String
  }

  /// One event.
  struct EventCase {
    /// Where messages about it point.
    var position: Syntax

    /// The place of messages about the event's name.
    var namePosition: Syntax

    /// The case as in code, including backticks; for a structure, its own name.
    var code: String

    /// The whole name in the log.
    var name: String

    var formerNames: [String]
    var id: UInt32

    /// Whether the source gives the id. Otherwise the id is computed.
    var hasOwnID: Bool

    /// The name of a case of EventKind.
    var kind: String?

    var fields: [EventField]
  }

  /// One field of an event.
  struct EventField {
    /// Where messages about it point.
    var position: Syntax

    /// The label or the property as in code, with backticks if needed.
    var code: String

    /// The label or the property without backticks.
    var label: String

    /// The name in the log.
    var name: String

    var formerNames: [String] = []
    var isSensitive = false

    /// The type as it is written.
    var type: String

    /// Whether the property has an attribute that may be a property wrapper.
    var isWrapped = false

    /// The default value for a field that a stored event does not have, as in the source.
    var defaultValue: String?
  }
#endif

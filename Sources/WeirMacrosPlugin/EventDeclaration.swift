// EventDeclaration: what a type with @Event says, free of how it says it.

#if Macros
  import SwiftSyntax

  /// A type with @Event.
  struct EventDeclaration {
    /// `enum` has a case for each event, `struct` is one event.
    enum Form { case enumeration, structure }

    var form: Form

    /// Where messages about the whole type point: its name.
    var position: Syntax

    /// Where messages about ``name`` point.
    var namePosition: Syntax

    /// The prefix of the names, or the structure's event's name.
    var name: String

    /// What the members of the extension are declared with, `public` for one; nil for nothing.
    var access: String?

    /// The encoding may be compiled into other modules: all that it touches is public.
    var isInlinable: Bool

    /// The type itself is deprecated.
    var isDeprecated = false

    /// A case or a stored property is deprecated.
    var hasDeprecated = false

    var events: [EventCase]

    var retired: [Retired]
  }

  /// An event that is gone.
  struct Retired {
    var id: UInt32

    /// The whole name that it would have now; nil if only the id is known.
    var name: String?

    /// As the source has it.
    var text: String
  }

  /// One event.
  struct EventCase {
    /// Where messages about it point.
    var position: Syntax

    /// Where messages about its name point.
    var namePosition: Syntax

    /// The case as code has it, backticks included; a structure's own name.
    var code: String

    /// The whole name in the log.
    var name: String

    var formerNames: [String]
    var id: UInt32

    /// The id was given, not computed.
    var hasOwnID: Bool

    /// The name of a case of EventKind.
    var kind: String?

    var fields: [EventField]
  }

  /// One field of an event.
  struct EventField {
    /// Where messages about it point.
    var position: Syntax

    /// The label, or the property, as code has it, with backticks if it needs them.
    var code: String

    /// The label or the property without backticks.
    var label: String

    /// The name in the log.
    var name: String

    var formerNames: [String] = []
    var isSensitive = false

    /// The type as it is written.
    var type: String

    /// A property with an attribute that may be a property wrapper.
    var isWrapped = false

    /// What stands in for a field that an event does not have, as it is written.
    var defaultValue: String?
  }
#endif

// EventContext: the user, view and fields that an event was captured with, joined to the event by readers.

/// A user, as associated with a process, a request or a task.
public struct EventUser: Hashable, Sendable {
  /// The user's id, as the program defines it.
  public var id: String

  /// What is known about the user.
  public var traits: FieldObject

  /// Creates a user.
  public init(id: String, traits: FieldObject = [:]) {
    self.id = id
    self.traits = traits
  }
}

/// A view (page, screen, request) in which events are captured.
public struct EventView: Hashable, Sendable {
  /// The unique id of this showing: two showings of one page have different ids.
  public var id: String

  /// The view's name.
  public var name: String

  /// The id of the enclosing view, or `nil`.
  public var parent: String?

  /// Creates a view.
  public init(id: String, name: String, parent: String? = nil) {
    self.id = id
    self.name = name
    self.parent = parent
  }
}

/// The user, view and fields that an event was captured with. The log stores the global part once, and readers join it
/// to each event.
public struct EventContext: Hashable, Sendable {
  /// The global fields at the time of the capture.
  public var globals: FieldObject

  /// The user bound around the capture. If no user was bound, the process's default user at the time of the capture.
  public var user: EventUser?

  /// The view that was bound around the capture.
  public var view: EventView?

  /// The fields bound around the capture. An inner field replaces an outer field of the same name.
  public var fields: FieldObject

  /// The names of sensitive global fields, bound fields and traits. See ``Field/isSensitive``. If ``allSensitive`` is a
  /// member, all of them are sensitive.
  public var sensitive: Set<String>

  /// The member of ``sensitive`` that marks every field and trait as sensitive. Used if the bound scope had no room for
  /// the names.
  public static let allSensitive = "*"

  /// Whether the global part was stored but is lost to damage. If so, the global fields, the default user, and which of
  /// them are sensitive are unknown.
  public var isGlobalPartLost = false

  /// Creates a context.
  public init(
    globals: FieldObject = [:], user: EventUser? = nil, view: EventView? = nil, fields: FieldObject = [:],
    sensitive: Set<String> = []
  ) {
    self.globals = globals
    self.user = user
    self.view = view
    self.fields = fields
    self.sensitive = sensitive
  }
}

// EventContext: who and what an event was captured for, joined to the event when it is read.

/// A user, as associated with a process, a request or a task.
public struct EventUser: Hashable, Sendable {
  /// The user's identity in the program's own terms.
  public var id: String

  /// What is known about the user.
  public var traits: FieldObject

  /// A user.
  public init(id: String, traits: FieldObject = [:]) {
    self.id = id
    self.traits = traits
  }
}

/// A view (page, screen, request) that events are captured in.
public struct EventView: Hashable, Sendable {
  /// The view's unique id: two showings of one page have two.
  public var id: String

  /// The view's name.
  public var name: String

  /// The id of the view around it, or nil.
  public var parent: String?

  /// A view.
  public init(id: String, name: String, parent: String? = nil) {
    self.id = id
    self.name = name
    self.parent = parent
  }
}

/// What an event was captured for. The global part is stored once in the log, and joined to each event as it is read.
public struct EventContext: Hashable, Sendable {
  /// The global fields, as they were at the capture.
  public var globals: FieldObject

  /// The user that was bound around the capture; without one, the process's default at the capture.
  public var user: EventUser?

  /// The view that was bound around the capture.
  public var view: EventView?

  /// The fields that were bound around the capture, inner ones over outer ones.
  public var fields: FieldObject

  /// Names of global fields, bound fields and traits that are sensitive, as ``Field/isSensitive`` has it. Where
  /// ``allSensitive`` is among them, all are.
  public var sensitive: Set<String>

  /// In ``sensitive``: every field and trait is. It stands there if what was bound had no room for the names.
  public static let allSensitive = "*"

  /// The global part was stored, and is lost to damage: global fields and default user are not known, nor what of them
  /// is sensitive.
  public var isGlobalPartLost = false

  /// A context.
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

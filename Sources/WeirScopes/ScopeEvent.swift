// ScopeEvent and ProcessEvent: the events of scopes and of the process's life cycle.

public import Weir

/// The events of a ``Scope``. Each is captured with the scope's view, so `EventContext.view` has the scope's id and
/// its parent's, and with the user and the fields that were bound where the scope began.
///
/// | event | fields |
/// |---|---|
/// | `scope.entered` | `name` |
/// | `scope.suspended` | `name` |
/// | `scope.resumed` | `name` |
/// | `scope.exited` | `name`, `interaction`, `seconds`, `suspendedSeconds` |
public enum ScopeEvent: Event, Hashable {
  /// A scope began.
  case entered(name: String)
  /// The scope's time stands still from now on.
  case suspended(name: String)
  /// The scope's time continues.
  case resumed(name: String)
  /// The scope ended: the interaction that ended it, its duration without suspensions, and the duration of its
  /// suspensions.
  case exited(name: String, interaction: String, seconds: Double, suspendedSeconds: Double)

  public static let eventTypes = [
    EventType("scope.entered", [Field("name", .string)], kind: .pageView),
    EventType("scope.suspended", [Field("name", .string)], kind: .pageAction),
    EventType("scope.resumed", [Field("name", .string)], kind: .pageAction),
    EventType(
      "scope.exited",
      [
        Field("name", .string), Field("interaction", .string), Field("seconds", .double),
        Field("suspendedSeconds", .double),
      ], kind: .pageAction),
  ]

  public func encode(into encoder: inout EventEncoder) {
    switch self {
    case .entered(let name):
      encoder.begin(0)
      encoder.put(name)
    case .suspended(let name):
      encoder.begin(1)
      encoder.put(name)
    case .resumed(let name):
      encoder.begin(2)
      encoder.put(name)
    case .exited(let name, let interaction, let seconds, let suspendedSeconds):
      encoder.begin(3)
      encoder.put(name)
      encoder.put(interaction)
      encoder.put(seconds)
      encoder.put(suspendedSeconds)
    }
  }

  public init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0: self = .entered(name: try stored["name"])
    case 1: self = .suspended(name: try stored["name"])
    case 2: self = .resumed(name: try stored["name"])
    case 3:
      self = .exited(
        name: try stored["name"], interaction: try stored["interaction"], seconds: try stored["seconds"],
        suspendedSeconds: try stored["suspendedSeconds"])
    default: return nil
    }
  }

  /// The scope's name.
  public var name: String {
    switch self {
    case .entered(let name), .suspended(let name), .resumed(let name), .exited(let name, _, _, _): name
    }
  }
}

/// The events of a process's ``LifeCycle``.
///
/// `process.started`, `process.resumed` (with `stoppedSeconds`), `process.idle`, `process.suspended`,
/// `process.shutdown`.
public enum ProcessEvent: Event, Hashable {
  /// The life cycle was made.
  case started
  /// The process continues after a standstill of `stoppedSeconds`.
  case resumed(stoppedSeconds: Double)
  /// Nothing was captured for a while.
  case idle
  /// The process is about to stand still, or to move to the background.
  case suspended
  /// The process is about to end.
  case shutdown

  public static let eventTypes = [
    EventType("process.started", kind: .systemAction),
    EventType("process.resumed", [Field("stoppedSeconds", .double)], kind: .systemAction),
    EventType("process.idle", kind: .systemAction),
    EventType("process.suspended", kind: .systemAction),
    EventType("process.shutdown", kind: .systemAction),
  ]

  public func encode(into encoder: inout EventEncoder) {
    switch self {
    case .started: encoder.begin(0)
    case .resumed(let stoppedSeconds):
      encoder.begin(1)
      encoder.put(stoppedSeconds)
    case .idle: encoder.begin(2)
    case .suspended: encoder.begin(3)
    case .shutdown: encoder.begin(4)
    }
  }

  public init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0: self = .started
    case 1: self = .resumed(stoppedSeconds: try stored["stoppedSeconds"])
    case 2: self = .idle
    case 3: self = .suspended
    case 4: self = .shutdown
    default: return nil
    }
  }
}

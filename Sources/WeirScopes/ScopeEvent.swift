// ScopeEvent and ProcessEvent: what scopes and the life cycle of the process capture.

public import Weir

/// What happens to a ``Scope``. Each is captured with the scope's view bound, so ``EventContext/view`` has its id and its
/// parent's, and with the user and the fields that were bound where the scope began.
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
  /// Its time stands still from here on.
  case suspended(name: String)
  /// Its time goes on.
  case resumed(name: String)
  /// It ended: by which interaction, how long it took without the time that it was suspended, and how long that was.
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

/// What happens to the process, as its ``LifeCycle`` tells it.
///
/// `process.started`, `process.resumed` (with `stoppedSeconds`), `process.idle`, `process.suspended`, `process.shutdown`.
public enum ProcessEvent: Event, Hashable {
  /// The life cycle was made.
  case started
  /// The process goes on, after so long.
  case resumed(stoppedSeconds: Double)
  /// Nothing was captured for a while.
  case idle
  /// The process is about to stand still, or to be in the background.
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

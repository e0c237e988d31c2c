// GlobalFields: what holds for every event of a process.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What holds for every event of a process. Stored in the log once, not in each event, and joined when it is read:
/// ``EventContext/globals``.
///
/// ```swift
/// var configuration = Tracker.Configuration()
/// configuration.globals = .standard()
/// configuration.globals.app = "shop"
/// configuration.globals.version = "4.2.0"
/// configuration.globals.fields = ["region": "eu-west"]
/// ```
///
/// Readers get one object, in which ``app`` is the field `app` and so on. Of a name that is in ``fields`` too the
/// property counts, if it is set. All of it, with the default user, takes 16 KiB at most.
public struct GlobalFields: Hashable, Sendable {
  /// The application.
  public var app: String?
  /// Its version.
  public var version: String?
  /// The machine.
  public var host: String?
  /// Where it runs: `production`, `staging`.
  public var environment: String?
  /// The run of the program, or whatever else is one session.
  public var session: String?
  /// What the user, or the operator, agreed to, in the program's own words.
  public var consent: String?
  /// Any others.
  public var fields: FieldObject
  /// Names of these, and of fields and traits of any context, that are sensitive, as ``Field/isSensitive`` has it.
  public var sensitive: Set<String>

  /// No more than what is given.
  public init(
    app: String? = nil, version: String? = nil, host: String? = nil, environment: String? = nil,
    session: String? = nil, consent: String? = nil, fields: FieldObject = [:], sensitive: Set<String> = []
  ) {
    self.app = app
    self.version = version
    self.host = host
    self.environment = environment
    self.session = session
    self.consent = consent
    self.fields = fields
    self.sensitive = sensitive
  }

  /// What the system knows: the name of the program as ``app``, the machine's as ``host``, and a new ``session``.
  public static func standard() -> GlobalFields {
    let process = ProcessInfo.processInfo
    return GlobalFields(app: process.processName, host: process.hostName, session: newViewID())
  }

  /// All of them as one object.
  var object: FieldObject {
    let named: [(String, String?)] = [
      ("app", app), ("version", version), ("host", host), ("environment", environment), ("session", session),
      ("consent", consent),
    ]
    let set = named.compactMap { name, text in
      text.map { FieldObject.Member(name: name, value: .string($0)) }
    }
    let names = Set(set.map(\.name))
    return FieldObject(set + fields.filter { !names.contains($0.name) })
  }
}

// GlobalFields: the fields that every event of a process has.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Fields that every event of a process has. The log stores them once instead of in each event, and readers join them
/// to the events: ``EventContext/globals``.
///
/// ```swift
/// var configuration = Tracker.Configuration()
/// configuration.globals = .standard()
/// configuration.globals.app = "shop"
/// configuration.globals.version = "4.2.0"
/// configuration.globals.fields = ["region": "eu-west"]
/// ```
///
/// Readers get one object. ``app`` is the field `app` of that object, and so on. If ``fields`` has a field of the same
/// name, a property that is set takes precedence. The global fields and the default user together take at most 16 KiB.
public struct GlobalFields: Hashable, Sendable {
  /// The application's name.
  public var app: String?
  /// The application's version.
  public var version: String?
  /// The machine's name.
  public var host: String?
  /// The environment of the process: `production`, `staging`.
  public var environment: String?
  /// The id of the session, such as one run of the program.
  public var session: String?
  /// What the user or the operator consented to, in the program's own terms.
  public var consent: String?
  /// Further fields.
  public var fields: FieldObject
  /// The names of sensitive global fields, and of sensitive fields and traits of any context. See
  /// ``Field/isSensitive``.
  public var sensitive: Set<String>

  /// Creates global fields with the given values only.
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

  /// Creates global fields from the system: the program's name as ``app``, the machine's name as ``host``, and a new
  /// ``session``.
  public static func standard() -> GlobalFields {
    let process = ProcessInfo.processInfo
    return GlobalFields(app: process.processName, host: process.hostName, session: newViewID())
  }

  /// All fields as one object.
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

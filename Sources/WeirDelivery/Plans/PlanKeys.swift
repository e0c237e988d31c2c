// PlanKeys: the keys of plan files, with the kinds of their values. The reader of plans knows the keys from here, the
// schema is made of this table, and a configuration is asked for these keys: see WeirConfiguration. A test holds the
// reader's verdicts against the schema's.

import Weir
import WeirContracts

/// A kind of values in a plan's file.
package indirect enum PlanValue: Sendable {
  /// Any value.
  case anything
  case null
  case flag
  /// A text that the pattern (ECMA 262) matches somewhere; `nil` for any text.
  case text(String? = nil)
  case oneOf([String])
  /// A whole number of at least this.
  case whole(from: Int)
  /// A number. The least is a value only if `isLeastAllowed`.
  case number(from: Double? = nil, isLeastAllowed: Bool = true, to: Double? = nil)
  /// A list; `count` is its exact length, `nil` for any.
  case list(PlanValue, count: Int? = nil)
  /// A map with fixed keys.
  case map(PlanMap)
  /// A map whose keys are names. The pattern matches every name; `nil` for any names.
  case names(PlanValue, matching: String? = nil)
  /// The map of a provider's keys.
  case provider
  /// A step of a mapper.
  case step
  /// The rule of a contract's field.
  case fieldRule
  case either([PlanValue])

  static let anyText = PlanValue.text()
  static let texts = PlanValue.list(.anyText)
  static let duration = PlanValue.text("^[0-9]+(d|h|m|s|ms|us|ns)$")
  /// A duration above zero.
  static let longDuration = PlanValue.text("^0*[1-9][0-9]*(d|h|m|s|ms|us|ns)$")
}

/// A key of a plan's file.
package struct PlanKey: Sendable {
  package let name: String
  package let value: PlanValue
  var isRequired = false

  init(_ name: String, _ value: PlanValue) {
    (self.name, self.value) = (name, value)
  }

  /// A key that must be there.
  static func required(_ name: String, _ value: PlanValue) -> PlanKey {
    var key = PlanKey(name, value)
    key.isRequired = true
    return key
  }
}

/// A map with fixed keys.
package struct PlanMap: Sendable {
  package let keys: [PlanKey]
  /// Exactly one of these keys is given; empty for no such rule.
  let oneOf: [String]
  /// The first key of each pair needs the second.
  var needs: [(key: String, needed: String)] = []
  /// The keys of each pair are never given together.
  var excludes: [(String, String)] = []

  init(_ keys: [PlanKey], oneOf: [String] = []) {
    self.keys = keys
    self.oneOf = oneOf
  }

  var names: [String] { keys.map(\.name) }

  /// Whether the map may be empty.
  var mayBeEmpty: Bool { oneOf.isEmpty && !keys.contains(where: \.isRequired) }
}

/// The keys of plan files.
package enum PlanKeys {
  package static let plan = PlanMap(
    [
      // For editors, and not read.
      PlanKey("$schema", .anything),
      .required("providers", .names(.provider, matching: "^[A-Za-z0-9_-]{1,64}$")),
      PlanKey("routes", .list(.map(route))),
    ] + options)

  static let route = PlanMap([.required("events", .texts), .required("to", .texts)])

  package static let provider: PlanMap = {
    var map = PlanMap(destination + options)
    map.needs = destination.dropFirst().map { ($0.name, "to") }
    map.excludes = [("key_env", "key_file"), ("pseudonym_key_env", "pseudonym_key_file")]
    return map
  }()

  /// The keys of a destination. `to` is the first.
  static let destination: [PlanKey] = [
    PlanKey("to", .either([.text(url), .text(path)])),
    PlanKey("preset", .oneOf(HTTPPresetName.allCases.map(\.rawValue))), PlanKey("key_env", .anyText),
    PlanKey("key_file", .anyText), PlanKey("pseudonym_key_env", .anyText), PlanKey("pseudonym_key_file", .anyText),
    PlanKey("user", .anyText), PlanKey("project", .anyText), PlanKey("table", .anyText), PlanKey("groups", .texts),
    PlanKey("failover", .text(url)),
    PlanKey(
      "statuses",
      .names(.oneOf(HTTPStatusRules.Meaning.allCases.map(\.rawValue)), matching: "^([2-5][0-9][0-9]|[2-5]xx)$")),
    PlanKey("cacert", .anyText), PlanKey("cert", .anyText), PlanKey("cert_key", .anyText), PlanKey("gzip", .flag),
    PlanKey("concurrency", .whole(from: 1)), PlanKey("lz4", .flag),
  ]

  /// The keys of a destination that need a path in `to`. The others, except for `to`, need a URL.
  static let ofPath = ["lz4"]

  /// What every URL is like. The reader refuses more.
  private static let url = "^[Hh][Tt][Tt][Pp][Ss]?://(\\[[^/?#@\\]]+\\]|[^/?#@:\\[]+)(:[0-9]*)?([/?#]|$)"
  /// What every path is like: no `://`, and not a host with a port.
  private static let path = "^(?!.*://)(?![^/]+:[0-9]{1,5}(/|$))(?![Hh][Tt][Tt][Pp][Ss]?:(/|$))[^\\n]"

  static let options: [PlanKey] = [
    PlanKey("contract", .either([.anyText, .map(contract), .null])), PlanKey("omits_unknown_fields", .flag),
    PlanKey("mapper", .list(.step)),
    PlanKey("start", .either([.oneOf(["beginning", "end"]), .text("^offset:[0-9]{1,20}$"), .text(time)])),
    PlanKey("duplicate_window", .either([.duration, .null])), PlanKey("duplicate_memory", .whole(from: 1)),
    PlanKey("user_memory", .whole(from: 0)), PlanKey("redacts_sensitive", .flag),
    PlanKey("annotations", .list(.oneOf(DeliveryOptions.Annotations.names.map(\.name)))),
    PlanKey("sends_gaps", .flag), PlanKey("rate_caps", .list(.map(rateCap))),
    PlanKey("attempt_timeout", .longDuration), PlanKey("flush", .map(flush)), PlanKey("backoff", .map(backoff)),
    PlanKey("budget", .map(budget)),
  ]

  private static let time =
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2}))?$"

  static let flush = PlanMap([
    PlanKey("triggers", .list(.oneOf(triggers.map(\.0)))), PlanKey("queue_limit", .whole(from: 1)),
    PlanKey("delivery_size", .whole(from: 1)), PlanKey("interval", .duration),
    PlanKey("first_events", .whole(from: 0)), PlanKey("idle_after", .duration),
    PlanKey("overflow_threshold", .number(from: 0, isLeastAllowed: false, to: 1)),
    PlanKey("maximum_events", .whole(from: 1)), PlanKey("maximum_bytes", .whole(from: 1)),
  ])

  static let rateCap = PlanMap([
    .required("events", .texts), .required("most", .whole(from: 0)), .required("per", .longDuration),
  ])

  static let budget = PlanMap([
    PlanKey("calls_per_second", .number(from: 0, isLeastAllowed: false)),
    PlanKey("bytes_per_second", .whole(from: 1)), PlanKey("processor_time_per_second", .longDuration),
  ])

  static let backoff = PlanMap([
    PlanKey("least", .duration), PlanKey("most", .duration), PlanKey("failures", .whole(from: 1)),
    PlanKey("open_for", .duration), PlanKey("probe_events", .whole(from: 1)),
  ])

  static let triggers: [(String, FlushPolicy.Triggers)] = [
    ("count", .count), ("bytes", .bytes), ("interval", .interval), ("start", .start), ("first_events", .firstEvents),
    ("suspend", .suspend), ("resume", .resume), ("idle", .idle), ("reachable", .reachable), ("overflow", .overflow),
    ("shutdown", .shutdown), ("demand", .demand),
  ]

  // MARK: Contracts

  /// The keys of a contract, which ContractKeys of WeirContracts has too.
  static let contract = PlanMap([
    .required("contract", .anyText), .required("version", .anyText), PlanKey("allows_unknown_events", .flag),
    PlanKey("requires_kind", .flag), PlanKey("every_event", .names(.fieldRule)),
    .required("events", .names(.either([.map(event), .null]))),
  ])

  static let event = PlanMap([
    PlanKey("kind", .oneOf(EventKind.allCases.map(\.rawValue))), PlanKey("open", .flag), PlanKey("deprecated", .flag),
    PlanKey("description", .anyText), PlanKey("fields", .names(.fieldRule)),
  ])

  static let fieldRule: PlanMap = {
    var map = PlanMap([
      PlanKey("type", .oneOf(FieldRule.ValueType.allCases.map(\.rawValue))), PlanKey("mandatory", .flag),
      PlanKey("one_of", .list(.anything)), PlanKey("min", .number()), PlanKey("max", .number()),
      PlanKey("above", .number()), PlanKey("below", .number()), PlanKey("finite", .flag),
      PlanKey("min_length", .whole(from: 0)), PlanKey("max_length", .whole(from: 0)), PlanKey("matches", .anyText),
      PlanKey("default", .anything), PlanKey("sensitive", .flag), PlanKey("deprecated", .flag),
      PlanKey("description", .anyText), PlanKey("fields", .names(.fieldRule)),
    ])
    map.excludes = [("min", "above"), ("max", "below")]
    return map
  }()

  // MARK: Steps

  /// The steps of mappers, and their arguments.
  static let steps: [(name: String, arguments: PlanMap)] = [
    ("deriving", PlanMap([.required("fields", .names(.map(derivedField))), PlanKey("from", .texts)])),
    ("adding", PlanMap([.required("fields", .names(.anything))])), ("only", selection), ("without", selection),
    ("renaming", renaming), ("joining_context", PlanMap([])),
    ("flattening", PlanMap([PlanKey("separator", .anyText)])), ("snake_case", casing), ("camel_case", casing),
    ("title_case", PlanMap([PlanKey("words", .texts)])),
    ("json_values", PlanMap([PlanKey("dates", .oneOf(EventMapper.DateForm.allCases.map(\.rawValue)))])),
    ("limiting", PlanMap([PlanKey("name_bytes", .whole(from: 0)), PlanKey("value_bytes", .whole(from: 0))])),
    ("shortening_addresses", PlanMap([.required("in", .texts)])),
    (
      "sampling",
      PlanMap([
        .required("events", .texts), .required("fraction", .number(from: 0, to: 1)),
      ])
    ),
  ]

  /// The rule of a derived field.
  static let derivedField = PlanMap(
    [
      PlanKey("copy", fieldPath), PlanKey("count", fieldPath), PlanKey("sum", .list(fieldPath)),
      PlanKey("ratio", .list(fieldPath, count: 2)), PlanKey("text", .anyText),
    ], oneOf: ["copy", "count", "sum", "ratio", "text"])

  private static let fieldPath = PlanValue.text(".")
  private static let selection = PlanMap(
    [PlanKey("events", .texts), PlanKey("fields", .texts)], oneOf: ["events", "fields"])
  private static let casing = PlanMap([PlanKey("separator", .anyText), PlanKey("words", .texts)])

  private static let renaming: PlanMap = {
    var map = PlanMap(
      [PlanKey("events", .names(.anyText)), PlanKey("fields", .names(.anyText)), PlanKey("in", .anyText)],
      oneOf: ["events", "fields"])
    map.needs = [("in", "fields")]
    return map
  }()
}

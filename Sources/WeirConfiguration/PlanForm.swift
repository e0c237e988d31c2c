// PlanForm: the form in which a configuration has a value of a plan's file. The table of the file's keys determines the
// form, so a key that is new in plans is a key of configurations too.

#if Configuration
  import WeirDelivery

  enum PlanForm {
    typealias Keys = [(name: String, form: PlanForm)]

    case text, flag, whole, number, texts
    /// A map with fixed keys: the JSON of the map, and values below the key of the map.
    case map(Keys)
    /// A map from names to maps with fixed keys.
    case maps(Keys)
    /// Anything else, as a text: its JSON.
    case json
    /// A text or, from `{` on, the JSON of a map; `null` is null.
    case textOrJSON

    /// The form of the values of a kind.
    init(_ value: PlanValue) {
      switch value {
      case .flag: self = .flag
      case .text, .oneOf: self = .text
      case .whole: self = .whole
      case .number: self = .number
      case .list(let values, _): self = PlanForm(values).isText ? .texts : .json
      case .map(let map): self = .map(Self.keys(map))
      case .names(.provider, _): self = .maps(Self.keys(PlanKeys.provider))
      case .either(let values):
        let texts = values.filter { PlanForm($0).isText }
        self = texts.count == values.count ? .text : texts.isEmpty ? .json : .textOrJSON
      case .anything, .null, .names, .provider, .step, .fieldRule: self = .json
      }
    }

    private static func keys(_ map: PlanMap) -> Keys {
      // `$schema` is for editors.
      map.keys.filter { !$0.name.hasPrefix("$") }.map { ($0.name, PlanForm($0.value)) }
    }

    private var isText: Bool { if case .text = self { true } else { false } }

    /// What a value has to be, for messages.
    var name: String {
      switch self {
      case .text: "a text"
      case .flag: "true or false"
      case .whole: "a whole number"
      case .number: "a number"
      case .texts: "a list of texts"
      case .textOrJSON: "a text"
      case .json, .map, .maps: "a text with JSON"
      }
    }
  }
#endif

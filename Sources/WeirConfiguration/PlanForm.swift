// PlanForm: in which form a configuration has a value of a plan's file. The schema of plan files decides, so that a key
// that is new in plans is a key of configurations too.

#if Configuration
  import WeirJSON

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

    /// The form of the values of a schema.
    init(_ schema: DocumentNode) {
      if case .list(let alternatives)? = schema["anyOf"]?.content {
        self = alternatives.contains { PlanForm($0).isText } ? .textOrJSON : .json
      } else if schema["enum"] != nil {
        self = .text
      } else if case .text(let type)? = schema["type"]?.content {
        self.init(ofType: type, schema)
      } else {
        self = .json
      }
    }

    private init(ofType type: String, _ schema: DocumentNode) {
      switch type {
      case "string": self = .text
      case "boolean": self = .flag
      case "integer": self = .whole
      case "number": self = .number
      case "array": self = schema["items"].map { PlanForm($0).isText } == true ? .texts : .json
      case "object":
        if let keys = schema["properties"]?.entries {
          // `$schema` is for editors.
          self = .map(keys.filter { !$0.key.hasPrefix("$") }.map { ($0.key, PlanForm($0.value)) })
        } else if let values = schema["additionalProperties"], case .map(let keys) = PlanForm(values) {
          self = .maps(keys)
        } else {
          self = .json
        }
      default: self = .json
      }
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

  extension DocumentNode {
    /// The entries of a map; `nil` of anything else.
    var entries: [Entry]? { if case .map(let entries) = content { entries } else { nil } }

    /// The value of a map's first such key.
    subscript(key: String) -> DocumentNode? { entries?.first { $0.key == key }?.value }
  }
#endif

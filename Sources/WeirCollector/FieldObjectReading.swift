// What the vendors' forms ask of an object: members of a kind, sizes, depths.

#if Collector
  import Weir

  extension FieldObject {
    /// The text of a member; nil if there is none, or something else.
    func text(_ name: String) -> String? {
      if case .string(let text)? = self[name] { text } else { nil }
    }

    /// The text of a member that identifies something: numbers are as good. Nil for an empty one.
    func identity(_ name: String) -> String? {
      switch self[name] {
      case .string(let text)?: text.isEmpty ? nil : text
      case .int(let number)?: String(number)
      case .uint(let number)?: String(number)
      default: nil
      }
    }

    /// The object of a member; nil if there is none, or something else.
    func object(_ name: String) -> FieldObject? {
      if case .object(let object)? = self[name] { object } else { nil }
    }

    /// The values of a member; nil if there is none, or something else.
    func array(_ name: String) -> [FieldValue]? {
      if case .array(let values)? = self[name] { values } else { nil }
    }

    /// Without the members of these names.
    func without(_ names: Set<String>) -> FieldObject {
      FieldObject(filter { !names.contains($0.name) })
    }
  }

  extension FieldValue {
    /// How many objects and arrays lie in one another, this one included; 0 for any other value.
    var depth: Int {
      switch self {
      case .array(let values): 1 + (values.lazy.map(\.depth).max() ?? 0)
      case .object(let object): 1 + (object.lazy.map(\.value.depth).max() ?? 0)
      default: 0
      }
    }

    /// How many bytes it takes as JSON without spaces, the escapes of strings aside.
    var jsonBytes: Int {
      switch self {
      case .null: 4
      case .bool(let value): value ? 4 : 5
      case .int(let value): value.description.utf8.count
      case .uint(let value): value.description.utf8.count
      case .double(let value): value.description.utf8.count
      case .string(let text): text.utf8.count + 2
      case .array(let values): values.reduce(2 + max(0, values.count - 1)) { $0 + $1.jsonBytes }
      case .object(let object):
        object.reduce(2 + max(0, object.count - 1)) { $0 + $1.name.utf8.count + 3 + $1.value.jsonBytes }
      case .float, .bytes, .uuid, .date: description.utf8.count + 2
      }
    }
  }
#endif

// JSONValue: an answer's JSON, of whatever shape.

#if HTTP
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// JSON that somebody else wrote: nothing about its shape is taken for granted.
  enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Nil if the bytes are no JSON, or nest deeper than anything that is asked for here.
    init?(_ bytes: [UInt8]) {
      // The decoder recurses: a body of brackets alone must not exhaust the stack.
      guard !bytes.isEmpty, Self.depth(of: bytes) <= 64,
        let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
      else { return nil }
      self = value
    }

    subscript(name: String) -> JSONValue? {
      guard case .object(let members) = self else { return nil }
      return members[name]
    }

    var array: [JSONValue]? {
      guard case .array(let values) = self else { return nil }
      return values
    }

    var object: [String: JSONValue]? {
      guard case .object(let members) = self else { return nil }
      return members
    }

    var text: String? {
      guard case .text(let text) = self else { return nil }
      return text
    }

    var bool: Bool? {
      guard case .bool(let value) = self else { return nil }
      return value
    }

    /// A whole number, also one that is written as text, as Protobuf's JSON has wide ones.
    var integer: Int? {
      switch self {
      case .number(let number): Int(exactly: number)
      case .text(let text): Int(text)
      default: nil
      }
    }

    /// How deep brackets nest, those in texts left out.
    private static func depth(of bytes: [UInt8]) -> Int {
      var depth = 0
      var deepest = 0
      var isText = false
      var isEscaped = false
      for byte in bytes {
        if isText {
          if isEscaped {
            isEscaped = false
          } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
          } else if byte == UInt8(ascii: "\"") {
            isText = false
          }
          continue
        }
        switch byte {
        case UInt8(ascii: "\""): isText = true
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          depth += 1
          deepest = max(deepest, depth)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
      }
      return deepest
    }
  }

  extension JSONValue: Decodable {
    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let value = try? container.decode(Bool.self) {
        self = .bool(value)
      } else if let value = try? container.decode(Double.self) {
        self = .number(value)
      } else if let value = try? container.decode(String.self) {
        self = .text(value)
      } else if let value = try? container.decode([JSONValue].self) {
        self = .array(value)
      } else {
        self = .object(try container.decode([String: JSONValue].self))
      }
    }
  }
#endif

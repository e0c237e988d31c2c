// EventDecoder: the standard library's Decoder for the fields of a stored event.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes one value of an event.
struct EventDecoder: Decoder {
  /// The state that the decoders of one event share.
  final class Root {
    /// Whether the event has a case that its type does not know.
    var foundUnknownCase = false
    /// Whether the event may have fields that are derived from the others.
    let isDeriving: Bool

    init(isDeriving: Bool) {
      self.isDeriving = isDeriving
    }
  }

  let value: FieldValue
  let codingPath: [any CodingKey]
  let root: Root
  /// Whether this decodes the event itself, and the only key is the name of a case.
  let isCase: Bool

  var userInfo: [CodingUserInfoKey: Any] { [:] }
  var foundUnknownCase: Bool { root.foundUnknownCase }

  /// Creates a decoder for an event of the type named `eventName`. Returns `nil` if the event is of another type.
  init?(_ stored: StoredEvent, eventName: String, isDeriving: Bool) {
    root = Root(isDeriving: isDeriving)
    codingPath = []
    if stored.name == eventName {
      isCase = false
      value = .object(stored.fields)
    } else if stored.name.hasPrefix(eventName), stored.name.dropFirst(eventName.count).first == "." {
      isCase = true
      let key = String(stored.name.dropFirst(eventName.count + 1))
      value = .object([key: .object(stored.fields)])
    } else {
      return nil
    }
  }

  fileprivate init(_ value: FieldValue, _ path: [any CodingKey], _ root: Root) {
    self.value = value
    codingPath = path
    self.root = root
    isCase = false
  }

  /// Returns the decoder of a part.
  func inside(_ value: FieldValue, _ key: some CodingKey) -> EventDecoder {
    EventDecoder(value, codingPath + [key], root)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let object) = value else { throw mismatch([String: FieldValue].self, "object") }
    if isCase, let name = object.first?.name, Key(stringValue: name) == nil { root.foundUnknownCase = true }
    return KeyedDecodingContainer(EventKeyedContainer(decoder: self, object: object))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    switch single.value {
    case .array(let values): return EventUnkeyedContainer(decoder: single, values: values)
    case .bytes(let bytes):
      return EventUnkeyedContainer(decoder: single, values: bytes.map { .uint(UInt64($0)) })
    default: throw mismatch([FieldValue].self, "array")
    }
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    EventSingleContainer(decoder: single)
  }

  /// The decoder of a single value. An event whose type encoded a single value has the value in a field, before the
  /// derived fields.
  private var single: EventDecoder {
    guard codingPath.isEmpty, case .object(let object) = value, let first = object.first, first.name == singleField,
      object.count == 1 || root.isDeriving
    else { return self }
    return inside(first.value, TextKey(singleField))
  }

  func mismatch(_ type: Any.Type, _ wanted: String) -> DecodingError {
    let text = value.mismatch(wanted).message
    let context = DecodingError.Context(codingPath: codingPath, debugDescription: text)
    if case .null = value { return .valueNotFound(type, context) }
    return .typeMismatch(type, context)
  }
}

extension EventDecoder {
  /// Decodes the value as `type`, with or without a kind of its own.
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    do {
      if let known = try known(type) { return known }
    } catch let error as FieldError {
      let context = DecodingError.Context(codingPath: codingPath, debugDescription: error.message)
      switch value {
      case .null: throw DecodingError.valueNotFound(type, context)
      case .int, .uint: throw DecodingError.dataCorrupted(context)
      default: throw DecodingError.typeMismatch(type, context)
      }
    }
    return try T(from: self)
  }

  private func known<T>(_ type: T.Type) throws -> T? {
    switch type {
    case is Bool.Type: try Bool(fieldValue: value) as? T
    case is String.Type: try String(fieldValue: value) as? T
    case is Double.Type: try Double(fieldValue: value) as? T
    case is Float.Type: try Float(fieldValue: value) as? T
    case is UUID.Type: try UUID(fieldValue: value) as? T
    case is Date.Type: try Date(fieldValue: value) as? T
    case is Data.Type: try Data(fieldValue: value) as? T
    case is [UInt8].Type: try [UInt8](fieldValue: value) as? T
    // Earlier versions stored the parts that these types encode themselves.
    case is URL.Type where !hasParts: try URL(fieldValue: value) as? T
    case is Decimal.Type where !hasParts: try Decimal(fieldValue: value) as? T
    case is Duration.Type where !hasParts: try Duration(fieldValue: value) as? T
    case is FieldValue.Type: value as? T
    case let integer as any FixedWidthInteger.Type: try value.number(integer) as? T
    default: nil
    }
  }

  private var hasParts: Bool {
    switch value {
    case .array, .object: true
    default: false
    }
  }
}

extension FieldValue {
  fileprivate func number<T: FixedWidthInteger>(_ type: T.Type) throws -> T { try integer() }
}

struct EventKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: EventDecoder
  let object: FieldObject

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { object.compactMap { Key(stringValue: $0.name) } }

  func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }

  func decodeNil(forKey key: Key) throws -> Bool {
    if case .null = try member(key).value { return true }
    return false
  }

  // This method replaces all the overloads of the protocol.
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try member(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try member(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try member(TextKey("super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

  private func member(_ key: some CodingKey) throws -> EventDecoder {
    guard let value = object[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "there is no field \(key.stringValue)"))
    }
    return decoder.inside(value, key)
  }
}

struct EventUnkeyedContainer: UnkeyedDecodingContainer {
  let decoder: EventDecoder
  let values: [FieldValue]
  private(set) var currentIndex = 0

  init(decoder: EventDecoder, values: [FieldValue]) {
    self.decoder = decoder
    self.values = values
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { values.count }
  var isAtEnd: Bool { currentIndex >= values.count }

  mutating func decodeNil() throws -> Bool {
    guard case .null = try element().value else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let value = try element().decode(type)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    let container = try element().container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try element().unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let element = try element()
    currentIndex += 1
    return element
  }

  private func element() throws -> EventDecoder {
    let key = TextKey(index: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        FieldValue.self,
        .init(codingPath: codingPath + [key], debugDescription: "the array has only \(values.count) values"))
    }
    return decoder.inside(values[currentIndex], key)
  }
}

struct EventSingleContainer: SingleValueDecodingContainer {
  let decoder: EventDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool {
    if case .null = decoder.value { return true }
    return false
  }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try decoder.decode(type)
  }
}

// TaggedEncoder: the standard library's Encoder over a TaggedWriter, for events of Codable types.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Encodes the value of one frame.
struct TaggedEncoder: Encoder {
  let writer: TaggedWriter
  let frame: Int

  var codingPath: [any CodingKey] { writer.buffer.pointee.path(of: frame) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    writer.buffer.pointee.shape(frame, as: .object)
    return KeyedEncodingContainer(TaggedKeyedContainer(writer: writer, frame: frame))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    writer.buffer.pointee.shape(frame, as: .array)
    return TaggedUnkeyedContainer(writer: writer, frame: frame)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    TaggedSingleContainer(writer: writer, frame: frame)
  }
}

struct TaggedKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let writer: TaggedWriter
  let frame: Int

  var codingPath: [any CodingKey] { writer.buffer.pointee.path(of: frame) }

  func encodeNil(forKey key: Key) {
    writer.buffer.pointee.appendKey(key, to: frame)
    writer.put(.null, 0, at: .member(of: frame)) { _ in }
  }

  // Stands in for every overload that the protocol lists.
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    writer.buffer.pointee.appendKey(key, to: frame)
    try writer.encodeMember(value, of: frame, key: key)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
    let child = open(key)
    writer.buffer.pointee.markNested(child)
    return TaggedEncoder(writer: writer, frame: child).container(keyedBy: Nested.self)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    TaggedEncoder(writer: writer, frame: open(key)).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    TaggedEncoder(writer: writer, frame: open(TextKey("super")))
  }

  func superEncoder(forKey key: Key) -> any Encoder {
    TaggedEncoder(writer: writer, frame: open(key))
  }

  private func open(_ key: some CodingKey) -> Int {
    writer.buffer.pointee.appendKey(key, to: frame)
    return writer.buffer.pointee.openFrame(in: frame, key: key)
  }
}

struct TaggedUnkeyedContainer: UnkeyedEncodingContainer {
  let writer: TaggedWriter
  let frame: Int

  var codingPath: [any CodingKey] { writer.buffer.pointee.path(of: frame) }
  var count: Int { Int(writer.buffer.pointee.frames[frame].count) }

  func encodeNil() {
    writer.buffer.pointee.bumpCount(of: frame)
    writer.put(.null, 0, at: .member(of: frame)) { _ in }
  }

  func encode<T: Encodable>(_ value: T) throws {
    let key = TextKey(index: count)
    writer.buffer.pointee.bumpCount(of: frame)
    try writer.encodeMember(value, of: frame, key: key)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy: Nested.Type) -> KeyedEncodingContainer<Nested> {
    TaggedEncoder(writer: writer, frame: open()).container(keyedBy: Nested.self)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    TaggedEncoder(writer: writer, frame: open()).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    TaggedEncoder(writer: writer, frame: open())
  }

  private func open() -> Int {
    let key = TextKey(index: count)
    writer.buffer.pointee.bumpCount(of: frame)
    return writer.buffer.pointee.openFrame(in: frame, key: key)
  }
}

struct TaggedSingleContainer: SingleValueEncodingContainer {
  let writer: TaggedWriter
  let frame: Int

  var codingPath: [any CodingKey] { writer.buffer.pointee.path(of: frame) }

  func encodeNil() {
    writer.put(.null, 0, at: .frame(frame)) { _ in }
  }

  func encode<T: Encodable>(_ value: T) throws {
    if writer.putKnown(value, at: .frame(frame)) { return }
    try value.encode(to: TaggedEncoder(writer: writer, frame: frame))
  }
}

/// A key that is a text or an index: of the elements of arrays, of `super`, and of fields while decoding.
struct TextKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(_ text: String) {
    stringValue = text
    intValue = nil
  }

  init(index: Int) {
    stringValue = "\(index)"
    intValue = index
  }

  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { self.init(index: intValue) }
}

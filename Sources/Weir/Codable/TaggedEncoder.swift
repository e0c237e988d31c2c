// TaggedEncoder: the standard library's Encoder for the events of Codable types, on top of a TaggedWriter.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Encodes the value of one frame.
struct TaggedEncoder: Encoder {
  let target: TaggedTarget

  var codingPath: [any CodingKey] { target.path }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    guard target.isLive else { return deadContainer(target) }
    target.buffer.shape(target.frame, as: .object)
    return target.container(type, target.frame)
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if target.isLive { target.buffer.shape(target.frame, as: .array) }
    return TaggedUnkeyedContainer(target: target)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    TaggedSingleContainer(target: target)
  }
}

/// Returns a container of an event that has ended.
@inline(never)
private func deadContainer<Key: CodingKey>(_ target: TaggedTarget) -> KeyedEncodingContainer<Key> {
  KeyedEncodingContainer(TaggedKeyedContainer<Key>(target: TaggedTarget(overAs: target)))
}

struct TaggedKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let target: TaggedTarget

  var codingPath: [any CodingKey] { target.path }

  func encodeNil(forKey key: Key) {
    put(key) { _ = $0.put(.null, 0, at: $1) }
  }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    guard target.isLive else { return }
    try target.writer.encode(value, at: .member(of: target.frame, key.stringValue), key: key, of: target.memory)
  }

  // Overloads for the types that the protocol requires. The general method above would have to compare the types.
  func encode(_ value: Bool, forKey key: Key) { put(key) { $0.put(.bool, value ? 1 as UInt8 : 0, at: $1) } }
  func encode(_ value: String, forKey key: Key) { put(key) { $0.putText(value, at: $1) } }
  func encode(_ value: Double, forKey key: Key) { put(key) { $0.put(.double, value.bitPattern, at: $1) } }
  func encode(_ value: Float, forKey key: Key) { put(key) { $0.put(.float, value.bitPattern, at: $1) } }
  func encode(_ value: Int, forKey key: Key) { put(key) { $0.put(.int64, Int64(value), at: $1) } }
  func encode(_ value: Int8, forKey key: Key) { put(key) { $0.put(.int8, value, at: $1) } }
  func encode(_ value: Int16, forKey key: Key) { put(key) { $0.put(.int16, value, at: $1) } }
  func encode(_ value: Int32, forKey key: Key) { put(key) { $0.put(.int32, value, at: $1) } }
  func encode(_ value: Int64, forKey key: Key) { put(key) { $0.put(.int64, value, at: $1) } }
  func encode(_ value: UInt, forKey key: Key) { put(key) { $0.put(.uint64, UInt64(value), at: $1) } }
  func encode(_ value: UInt8, forKey key: Key) { put(key) { $0.put(.uint8, value, at: $1) } }
  func encode(_ value: UInt16, forKey key: Key) { put(key) { $0.put(.uint16, value, at: $1) } }
  func encode(_ value: UInt32, forKey key: Key) { put(key) { $0.put(.uint32, value, at: $1) } }
  func encode(_ value: UInt64, forKey key: Key) { put(key) { $0.put(.uint64, value, at: $1) } }

  @inline(__always)
  private func put(_ key: Key, _ write: (TaggedWriter, TaggedWriter.Place) -> Void) {
    guard target.isLive else { return }
    write(target.writer, .member(of: target.frame, key.stringValue))
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested>
  {
    guard target.isLive else { return deadContainer(target) }
    let child = open(key)
    target.buffer.markNested(child)
    target.buffer.shape(child, as: .object)
    return target.container(type, child)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoder(TextKey("super")) }

  func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

  private func open(_ key: some CodingKey) -> Int {
    target.writer.open(.member(of: target.frame, key.stringValue), key)
  }

  /// Returns an encoder for the next value. The encoder may be used at any time until the event ends.
  private func encoder(_ key: some CodingKey) -> TaggedEncoder {
    TaggedEncoder(target: target.isLive ? TaggedTarget(target.memory, open(key)) : TaggedTarget(overAs: target))
  }
}

struct TaggedUnkeyedContainer: UnkeyedEncodingContainer {
  let target: TaggedTarget

  var codingPath: [any CodingKey] { target.path }
  var count: Int { target.isLive ? Int(target.buffer[target.frame].count) : 0 }

  func encodeNil() {
    guard target.isLive else { return }
    _ = target.writer.put(.null, 0, at: .element(of: target.frame))
  }

  // This method replaces all the overloads of the protocol.
  func encode<T: Encodable>(_ value: T) throws {
    guard target.isLive else { return }
    try target.writer.encode(value, at: .element(of: target.frame), key: TextKey(index: count), of: target.memory)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    encoder().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }

  func superEncoder() -> any Encoder { encoder() }

  private func encoder() -> TaggedEncoder {
    guard target.isLive else { return TaggedEncoder(target: target) }
    let child = target.writer.open(.element(of: target.frame), TextKey(index: count))
    return TaggedEncoder(target: TaggedTarget(target.memory, child))
  }
}

struct TaggedSingleContainer: SingleValueEncodingContainer {
  let target: TaggedTarget

  var codingPath: [any CodingKey] { target.path }

  func encodeNil() {
    guard target.isLive else { return }
    _ = target.writer.put(.null, 0, at: .frame(target.frame))
  }

  func encode<T: Encodable>(_ value: T) throws {
    guard target.isLive, !target.writer.putKnown(value, at: .frame(target.frame)) else { return }
    try value.encode(to: TaggedEncoder(target: target))
  }
}

/// A key that is a text or an index: for elements of arrays, for `super`, and for fields while decoding.
///
/// The text of an index is created only on demand, which is rare.
struct TextKey: CodingKey {
  private enum Content {
    case text(String)
    case index(Int)
  }
  private let content: Content

  init(_ text: String) { content = .text(text) }
  init(index: Int) { content = .index(index) }
  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { self.init(index: intValue) }

  var stringValue: String {
    switch content {
    case .text(let text): text
    case .index(let index): "\(index)"
    }
  }

  var intValue: Int? {
    guard case .index(let index) = content else { return nil }
    return index
  }
}

// CodableDiscardSubject.swift: the same Codable enum, given to an encoder that throws everything away. What it costs is
// what the compiler's code and the protocol's boxes cost; Weir's Codable captures are held against it.

/// Encodes each event and keeps nothing.
final class CodableDiscardSubject: Subject {
  private let texts: [String]

  init(_ setup: Setup) {
    texts = setup.texts
  }

  @inline(never)
  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    let coupon = texts[thread]
    let encoder = DiscardingEncoder()
    var encoded = 0
    for order in first..<first + UInt64(count) {
      let event = CodableCheckout.completed(order: order, total: 19.99, items: 3, coupon: coupon)
      if (try? event.encode(to: encoder)) != nil { encoded += 1 }
    }
    return encoded
  }

  func settle() {}
  func finish() -> Delivery { Delivery() }
}

/// Takes every value and does nothing with it.
private struct DiscardingEncoder: Encoder {
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(DiscardingKeyedContainer<Key>())
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { DiscardingContainer() }
  func singleValueContainer() -> any SingleValueEncodingContainer { DiscardingContainer() }
}

private struct DiscardingKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  var codingPath: [any CodingKey] { [] }

  mutating func encodeNil(forKey key: Key) {}
  mutating func encode(_ value: Bool, forKey key: Key) {}
  mutating func encode(_ value: String, forKey key: Key) {}
  mutating func encode(_ value: Double, forKey key: Key) {}
  mutating func encode(_ value: Float, forKey key: Key) {}
  mutating func encode(_ value: Int, forKey key: Key) {}
  mutating func encode(_ value: Int8, forKey key: Key) {}
  mutating func encode(_ value: Int16, forKey key: Key) {}
  mutating func encode(_ value: Int32, forKey key: Key) {}
  mutating func encode(_ value: Int64, forKey key: Key) {}
  mutating func encode(_ value: UInt, forKey key: Key) {}
  mutating func encode(_ value: UInt8, forKey key: Key) {}
  mutating func encode(_ value: UInt16, forKey key: Key) {}
  mutating func encode(_ value: UInt32, forKey key: Key) {}
  mutating func encode(_ value: UInt64, forKey key: Key) {}
  mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try value.encode(to: DiscardingEncoder()) }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(DiscardingKeyedContainer<Nested>())
  }
  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { DiscardingContainer() }
  mutating func superEncoder() -> any Encoder { DiscardingEncoder() }
  mutating func superEncoder(forKey key: Key) -> any Encoder { DiscardingEncoder() }
}

private struct DiscardingContainer: UnkeyedEncodingContainer, SingleValueEncodingContainer {
  var codingPath: [any CodingKey] { [] }
  var count: Int { 0 }

  mutating func encodeNil() {}
  mutating func encode<T: Encodable>(_ value: T) throws {}
  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(DiscardingKeyedContainer<Nested>())
  }
  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { DiscardingContainer() }
  mutating func superEncoder() -> any Encoder { DiscardingEncoder() }
}

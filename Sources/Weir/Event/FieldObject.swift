// FieldObject: named values in order, the fields of an event or of a nested object.

/// Named values, in the order in which they were written.
///
/// Look-up by name is linear, which for the usual handful of fields beats hashing.
public struct FieldObject: Hashable, Sendable {
  /// One field.
  public struct Member: Hashable, Sendable {
    /// The field's name.
    public var name: String

    /// What the field holds.
    public var value: FieldValue

    /// A field of this name and value.
    public init(name: String, value: FieldValue) {
      self.name = name
      self.value = value
    }
  }

  @usableFromInline package var members: [Member]

  /// The fields, in order.
  public init(_ members: [Member] = []) {
    self.members = members
  }

  /// The fields, in order.
  public init(_ members: [(String, FieldValue)]) {
    self.members = members.map { Member(name: $0.0, value: $0.1) }
  }

  /// The value named `name`, or nil if there is none. Of several with one name, which only dynamic events can have, the
  /// last.
  ///
  /// Setting it changes that one, or adds a field at the end; nil removes every field of the name.
  public subscript(name: String) -> FieldValue? {
    get { members.last { $0.name == name }?.value }
    set {
      guard let newValue else { return members.removeAll { $0.name == name } }
      if let index = members.lastIndex(where: { $0.name == name }) {
        members[index].value = newValue
      } else {
        members.append(Member(name: name, value: newValue))
      }
    }
  }

  /// The value named `name`, as the type that is asked for.
  ///
  /// Throws a ``FieldError`` if the value is missing, of another kind, or out of the type's range. An optional type
  /// takes a missing value as nil.
  ///
  /// ```swift
  /// let amount: Int64 = try object.value("amount")
  /// ```
  public func value<T: EventValue>(_ name: String) throws -> T {
    do {
      return try T(fieldValue: self[name] ?? .null)
    } catch let error as FieldError {
      throw error.inside(name)
    }
  }
}

extension FieldObject: RandomAccessCollection {
  @inlinable public var startIndex: Int { 0 }
  @inlinable public var endIndex: Int { members.count }
  @inlinable public subscript(position: Int) -> Member { members[position] }
}

extension FieldObject: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, FieldValue)...) {
    self.init(elements)
  }
}

extension FieldObject: CustomStringConvertible {
  public var description: String {
    "{" + members.map { "\($0.name): \($0.value)" }.joined(separator: ", ") + "}"
  }
}

// FieldObject: named values in order, the fields of an event or of a nested object.

/// Named values, in the order in which they were written.
///
/// Look-up by name is linear, which is faster than hashing for the usual handful of fields.
public struct FieldObject: Hashable, Sendable {
  /// One field.
  public struct Member: Hashable, Sendable {
    /// The field's name.
    public var name: String

    /// The field's value.
    public var value: FieldValue

    /// Creates a field.
    @inlinable
    public init(name: String, value: FieldValue) {
      self.name = name
      self.value = value
    }
  }

  @usableFromInline package var members: [Member]

  /// Creates an object with these fields, in order.
  public init(_ members: [Member] = []) {
    self.members = members
  }

  /// Creates an object with these fields, in order.
  @inlinable
  public init(_ members: [(String, FieldValue)]) {
    // A loop, because `map` retains each name and value twice. To reserve nothing would allocate.
    self.members = []
    guard !members.isEmpty else { return }
    self.members.reserveCapacity(members.count)
    for (name, value) in members { self.members.append(Member(name: name, value: value)) }
  }

  /// The value with this name, or `nil` if there is none. Only events without a type can have several fields with the
  /// same name; the last of them counts.
  ///
  /// Setting a value changes that field, or appends a field. Setting `nil` removes every field with the name.
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

  /// Returns the value with this name as the requested type.
  ///
  /// Throws a ``FieldError`` if the value is missing, of another kind, or out of the type's range. For an optional
  /// type, a missing value is `nil`.
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
  @inlinable
  public init(dictionaryLiteral elements: (String, FieldValue)...) {
    self.init(elements)
  }
}

extension FieldObject: CustomStringConvertible {
  public var description: String {
    "{" + members.map { "\($0.name): \($0.value)" }.joined(separator: ", ") + "}"
  }
}

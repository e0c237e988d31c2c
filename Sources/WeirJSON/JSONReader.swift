// JSONReader: reads JSON as field values, for the tool, which records lines of JSON, and for the collector, which takes
// batches.

package import Weir

/// Reads JSON texts as field values. A whole number becomes an `Int64`, else a `UInt64`, else a `Double`. A number with
/// a fraction or an exponent becomes a `Double`.
package enum JSONReader {
  /// The limits of an accepted text.
  package struct Limits: Sendable {
    /// The maximum number of objects and arrays around a value.
    package var depth: Int
    /// The maximum length of a member's name, in bytes.
    package var nameBytes: Int
    /// Whether an object may have several members with the same name. If so, all of them are kept.
    package var allowsEqualNames: Bool

    package init(depth: Int, nameBytes: Int = .max, allowsEqualNames: Bool = false) {
      self.depth = depth
      self.nameBytes = nameBytes
      self.allowsEqualNames = allowsEqualNames
    }
  }

  /// Returns the value of the text. Only whitespace may surround the value.
  package static func read(_ text: Span<UInt8>, limits: Limits) throws(JSONProblem) -> FieldValue {
    try JSONScanner.scan(text, allowsWholeDoubles: true) { scanner throws(JSONProblem) in
      try value(&scanner, depth: 0, limits)
    }
  }

  private static func value(
    _ scanner: inout JSONScanner, depth: Int, _ limits: Limits
  ) throws(JSONProblem) -> FieldValue {
    if scanner.take(UInt8(ascii: "{")) { return .object(try object(&scanner, depth: depth, limits)) }
    if scanner.take(UInt8(ascii: "[")) { return .array(try array(&scanner, depth: depth, limits)) }
    return try scanner.scalar()
  }

  private static func object(
    _ scanner: inout JSONScanner, depth: Int, _ limits: Limits
  ) throws(JSONProblem) -> FieldObject {
    guard depth <= limits.depth else { throw scanner.problem("values nest too deep") }
    var members: [FieldObject.Member] = []
    var names: Set<[UInt8]> = []
    try scanner.members { scanner, name, _ throws(JSONProblem) in
      guard name.utf8.count <= limits.nameBytes else { throw scanner.problem("a member's name is too long") }
      // Compared by bytes: names that only look alike are different names.
      guard limits.allowsEqualNames || names.insert(Array(name.utf8)).inserted else {
        throw scanner.problem("two members of an object have the same name")
      }
      members.append(FieldObject.Member(name: name, value: try value(&scanner, depth: depth + 1, limits)))
    }
    return FieldObject(members)
  }

  private static func array(
    _ scanner: inout JSONScanner, depth: Int, _ limits: Limits
  ) throws(JSONProblem) -> [FieldValue] {
    guard depth <= limits.depth else { throw scanner.problem("values nest too deep") }
    var values: [FieldValue] = []
    try scanner.elements { scanner throws(JSONProblem) in
      values.append(try value(&scanner, depth: depth + 1, limits))
    }
    return values
  }
}

// ContentHash: a 64-bit hash by which the window of duplicates compares events.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension StoredEvent {
  /// A hash of the event's content and source: the name, the fields, and the user. Without a user, the opening and lane
  /// of the capture take the user's place.
  ///
  /// The hash of an event differs between processes. With the default number of remembered events, about one event in
  /// 10^13 is wrongly taken for a duplicate.
  var contentHash: Int {
    var hash = Hasher()
    if let user = context.user?.id {
      hash.combine(1)
      hash.combine(user)
    } else {
      hash.combine(2)
      hash.combine(id.opening)
      hash.combine(id.sequence >> 48)
    }
    hash.combine(name)
    hash.combine(contentOf: fields)
    return hash.finalize()
  }
}

extension Hasher {
  /// Adds fields in any order, because the order of a dictionary changes from one encoding to the next.
  fileprivate mutating func combine(contentOf fields: FieldObject) {
    var sum = 0
    for member in fields {
      var hash = Hasher()
      hash.combine(member.name)
      hash.combine(contentOf: member.value)
      sum = sum &+ hash.finalize()
    }
    combine(sum)
  }

  /// Adds a value after a number for its kind: the integer 1 differs from the text "1". Floating-point numbers are
  /// compared by their bits.
  fileprivate mutating func combine(contentOf value: FieldValue) {
    switch value {
    case .null: combine(0)
    case .bool(let value): combine(value ? 1 : 2)
    case .int(let value):
      combine(3)
      combine(value)
    case .uint(let value):
      combine(4)
      combine(value)
    case .float(let value):
      combine(5)
      combine(value.bitPattern)
    case .double(let value):
      combine(6)
      combine(value.bitPattern)
    case .string(let value):
      combine(7)
      combine(value)
    case .bytes(let value):
      combine(8)
      combine(value)
    case .uuid(let value):
      combine(9)
      combine(value)
    case .date(let value):
      combine(10)
      combine(value.timeIntervalSinceReferenceDate.bitPattern)
    case .array(let values):
      combine(11)
      combine(values.count)
      for value in values { combine(contentOf: value) }
    case .object(let object):
      combine(12)
      combine(contentOf: object)
    }
  }
}

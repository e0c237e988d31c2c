// MetadataForm: metadata in the form that a line stores: each value of a kind that a log has, each key a field's name.

import Logging
import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Brings metadata into the form that a line stores. Descriptions are the program's code, so they are made here, before
/// the capture holds a lane.
struct MetadataForm {
  /// The metadata, all of it storable.
  private(set) var metadata: Logger.Metadata = [:]

  /// The paths of the sensitive values, as ``Field/isSensitive`` marks them; `nil` if there are none.
  var sensitive: Set<String>? { paths.isEmpty ? nil : paths }

  private var paths: Set<String> = []
  private let isSensitive: (Logger.MetadataValueAttributes) -> Bool

  init(_ isSensitive: @escaping (Logger.MetadataValueAttributes) -> Bool) {
    self.isSensitive = isSensitive
  }

  mutating func add(_ added: Logger.Metadata, _ error: (any Error)?) {
    // The names and texts of swift-log's own handler.
    let ofError: Logger.Metadata =
      error.map {
        ["error.message": "\(String(describing: $0))", "error.type": "\(String(reflecting: type(of: $0)))"]
      } ?? [:]
    metadata.reserveCapacity(added.count + ofError.count)
    for (key, value) in added {
      var name = key
      while LogLine.hasField(name) || ofError[name] != nil || name != key && added[name] != nil {
        name = "metadata." + name
      }
      metadata[name] = storable(value, at: name, depth: 1)
    }
    metadata.merge(ofError) { $1 }
  }

  /// Replaces the sensitive values.
  mutating func redact() {
    for (key, value) in metadata { metadata[key] = redacted(value, at: key) }
  }

  private func redacted(_ value: Logger.MetadataValue, at path: String) -> Logger.MetadataValue {
    guard !paths.contains(path) else { return .string(LogLine.redacted) }
    switch value {
    case .string, .stringConvertible: return value
    case .array(let values): return .array(values.map { redacted($0, at: path) })
    case .dictionary(let members):
      return .dictionary(
        Dictionary(uniqueKeysWithValues: members.map { ($0, redacted($1, at: "\(path).\($0)")) }))
    }
  }

  private mutating func storable(_ value: Logger.MetadataValue, at path: String, depth: Int) -> Logger.MetadataValue {
    switch value {
    case .string:
      return value
    case .stringConvertible(let convertible):
      if Scalar(convertible) != nil { return value }
      let attributes = value.attributes
      if attributes != Logger.MetadataValueAttributes(), isSensitive(attributes) { paths.insert(path) }
      return .string(convertible.description)
    case .array(let values):
      guard depth <= maximumDepth else { return .string(described(value, at: path)) }
      return .array(values.map { storable($0, at: path, depth: depth + 1) })
    case .dictionary(let members):
      guard depth <= maximumDepth else { return .string(described(value, at: path)) }
      var storables = Logger.Metadata(minimumCapacity: members.count)
      for (key, member) in members { storables[key] = storable(member, at: "\(path).\(key)", depth: depth + 1) }
      return .dictionary(storables)
    }
  }

  /// The description of a value that is nested too deep to be stored. If a part is sensitive, the whole is.
  private mutating func described(_ value: Logger.MetadataValue, at path: String) -> String {
    if holdsSensitive(value) { paths.insert(path) }
    return value.description
  }

  private func holdsSensitive(_ value: Logger.MetadataValue) -> Bool {
    switch value {
    case .string: false
    case .stringConvertible:
      value.attributes != Logger.MetadataValueAttributes() && isSensitive(value.attributes)
    case .array(let values): values.contains(where: holdsSensitive)
    case .dictionary(let members): members.values.contains(where: holdsSensitive)
    }
  }
}

/// A value of a type that a log has a kind for.
///
/// The types are compared instead of cast: a comparison takes a nanosecond, a cast to a protocol a hundred.
enum Scalar {
  case bool(Bool)
  case int(Int64)
  case uint(UInt64)
  case float(Float)
  case double(Double)
  case text(String)
  case uuid(UUID)
  case date(Date)

  init?(_ value: any CustomStringConvertible & Sendable) {
    self.init(opened: value)
  }

  private init?<Value>(opened value: Value) {
    // Each branch has established that Value is the type that the bits are read as.
    func bits<Known>(_ type: Known.Type) -> Known { unsafeBitCast(value, to: type) }
    if Value.self == Int.self {
      self = .int(Int64(bits(Int.self)))
    } else if Value.self == String.self {
      self = .text(bits(String.self))
    } else if Value.self == Double.self {
      self = .double(bits(Double.self))
    } else if Value.self == Bool.self {
      self = .bool(bits(Bool.self))
    } else if Value.self == UInt64.self {
      self = .uint(bits(UInt64.self))
    } else if Value.self == Int64.self {
      self = .int(bits(Int64.self))
    } else if Value.self == UUID.self {
      self = .uuid(bits(UUID.self))
    } else if Value.self == Date.self {
      self = .date(bits(Date.self))
    } else if Value.self == Float.self {
      self = .float(bits(Float.self))
    } else if Value.self == UInt.self {
      self = .uint(UInt64(bits(UInt.self)))
    } else if Value.self == Int32.self {
      self = .int(Int64(bits(Int32.self)))
    } else if Value.self == UInt32.self {
      self = .uint(UInt64(bits(UInt32.self)))
    } else if Value.self == Int16.self {
      self = .int(Int64(bits(Int16.self)))
    } else if Value.self == UInt16.self {
      self = .uint(UInt64(bits(UInt16.self)))
    } else if Value.self == Int8.self {
      self = .int(Int64(bits(Int8.self)))
    } else if Value.self == UInt8.self {
      self = .uint(UInt64(bits(UInt8.self)))
    } else {
      return nil
    }
  }
}

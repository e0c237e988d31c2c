// Mappers of values: convert values in fields and context to the forms that a provider accepts.

import Weir
import WeirJSON

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension EventMapper {
  /// The form of dates.
  public enum DateForm: String, Hashable, Sendable, CaseIterable {
    /// RFC 3339 in UTC with nine decimals, such as `2026-11-21T00:00:00.500000000Z`. RFC 3339 covers only the years 0
    /// to 9999; for other years, the number of seconds since 2001-01-01T00:00:00Z.
    case text
    /// The seconds since 1970, with decimals.
    case seconds
    /// The whole milliseconds since 1970. A floating-point number if the value does not fit into 64 bits.
    case milliseconds
  }

  /// Converts values to forms that JSON has: dates to the given form, UUIDs to text, bytes to base64, integers beyond
  /// ±(2^53 - 1) to text, and non-finite numbers to `NaN`, `Infinity` and `-Infinity`.
  public static func jsonValues(dates form: DateForm = .text) -> EventMapper {
    EventMapper(.step("json_values", [("dates", form == .text ? nil : .text(form.rawValue))])) { event, _ in
      event.mapObjects { fields in
        fields.mappingValues { value in
          switch value {
          case .date(let date): date.fieldValue(as: form).withNonFiniteAsText
          case .uuid(let id): .string(id.uuidString)
          case .bytes(let bytes): .string(Data(bytes).base64EncodedString())
          default: value.withWideIntegersAsText.withNonFiniteAsText
          }
        }
      }
      return true
    }
  }
}

extension FieldObject {
  func mappingValues(_ change: (FieldValue) -> FieldValue) -> FieldObject {
    FieldObject(map { Member(name: $0.name, value: $0.value.mappingValues(change)) })
  }
}

extension FieldValue {
  fileprivate func mappingValues(_ change: (FieldValue) -> FieldValue) -> FieldValue {
    switch self {
    case .object(let object): .object(object.mappingValues(change))
    case .array(let values): .array(values.map { $0.mappingValues(change) })
    default: change(self)
    }
  }

  fileprivate var withWideIntegersAsText: FieldValue {
    let exact: UInt64 = 1 << 53 - 1
    switch self {
    case .int(let value) where value.magnitude > exact: return .string("\(value)")
    case .uint(let value) where value > exact: return .string("\(value)")
    default: return self
    }
  }

  fileprivate var withNonFiniteAsText: FieldValue {
    switch self {
    case .double(let value) where !value.isFinite: .string(Self.name(ofNonFinite: value))
    case .float(let value) where !value.isFinite: .string(Self.name(ofNonFinite: Double(value)))
    default: self
    }
  }

  private static func name(ofNonFinite value: Double) -> String {
    value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity"
  }
}

extension Date {
  fileprivate func fieldValue(as form: EventMapper.DateForm) -> FieldValue {
    switch form {
    case .text:
      var text: [UInt8] = []
      guard UTC.append(self, to: &text) else { return .double(timeIntervalSinceReferenceDate) }
      return .string(String(decoding: text, as: UTF8.self))
    case .seconds: return .double(timeIntervalSince1970)
    case .milliseconds:
      let milliseconds = (timeIntervalSince1970 * 1000).rounded()
      return Int64(exactly: milliseconds).map { .int($0) } ?? .double(milliseconds)
    }
  }
}

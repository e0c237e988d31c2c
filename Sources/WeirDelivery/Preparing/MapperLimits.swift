// Mappers of limits: cut names and values that are too long for a provider.

import Weir
import WeirJSON

extension EventMapper {
  /// Cuts names and values to at most this many bytes; `nil` means any length. Applies to the names of events, fields,
  /// and the context's fields and traits, and to the values that are texts or bytes. The limit of names is at least 8
  /// bytes.
  ///
  /// ``PreparedEvent/Counts/truncated`` counts the cuts. The length of a text is its length in UTF-8. A text is never
  /// cut within a character.
  public static func limiting(nameBytes: Int? = nil, valueBytes: Int? = nil) -> EventMapper {
    let names = nameBytes.map { max($0, 8) }
    let values = valueBytes.map { max($0, 0) }
    let form = MapperForm.step(
      "limiting",
      [("name_bytes", nameBytes.map(DocumentNode.number)), ("value_bytes", valueBytes.map(DocumentNode.number))])
    return EventMapper(form) { event, counts in
      if let names { event.cutNames(to: names, &counts) }
      if let values { event.cutValues(to: values, &counts) }
      return true
    }
  }
}

extension PreparedEvent {
  fileprivate mutating func cutNames(to limit: Int, _ counts: inout Counts) {
    if name.utf8.count > limit {
      name = name.cut(to: limit)
      counts.truncated += 1
    }
    mapObjects { $0.namesCut(to: limit, &counts) }
  }

  fileprivate mutating func cutValues(to limit: Int, _ counts: inout Counts) {
    mapObjects { fields in
      fields.mappingValues { value in
        guard let cut = value.cut(to: limit) else { return value }
        counts.truncated += 1
        return cut
      }
    }
  }
}

extension FieldObject {
  fileprivate func namesCut(to limit: Int, _ counts: inout PreparedEvent.Counts) -> FieldObject {
    let inner = mappingInner { $0.namesCut(to: limit, &counts) }
    let long = inner.count { $0.name.utf8.count > limit }
    guard long > 0 else { return inner }
    counts.truncated += UInt64(long)
    return inner.renamed(counting: &counts, limit: limit) { $0.cut(to: limit) }
  }
}

extension FieldValue {
  /// Returns the value cut to this many bytes, or `nil` if it is not longer.
  fileprivate func cut(to limit: Int) -> FieldValue? {
    switch self {
    case .string(let text) where text.utf8.count > limit: .string(text.cut(to: limit))
    case .bytes(let bytes) where bytes.count > limit: .bytes(Array(bytes.prefix(limit)))
    default: nil
    }
  }
}

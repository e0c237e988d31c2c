// Mappers of limits: names and values that are longer than a provider takes are cut.

import Weir

extension EventMapper {
  /// Names (of events, fields and the context's fields and traits) and values (texts and bytes) of at most so many
  /// bytes; nil: of any length. A name has at least 8 bytes.
  ///
  /// ``PreparedEvent/Counts/truncated`` counts what is cut. Texts are bytes of UTF-8, and are never cut in the middle
  /// of a character.
  public static func limiting(nameBytes: Int? = nil, valueBytes: Int? = nil) -> EventMapper {
    let names = nameBytes.map { max($0, 8) }
    let values = valueBytes.map { max($0, 0) }
    return EventMapper(step: { event, counts in
      if let names { event.cutNames(to: names, &counts) }
      if let values { event.cutValues(to: values, &counts) }
      return true
    })
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
  /// The value within so many bytes; nil if it is.
  fileprivate func cut(to limit: Int) -> FieldValue? {
    switch self {
    case .string(let text) where text.utf8.count > limit: .string(text.cut(to: limit))
    case .bytes(let bytes) where bytes.count > limit: .bytes(Array(bytes.prefix(limit)))
    default: nil
    }
  }
}

// SchemaText: a schema as text for people: a paragraph for each event, a line for each field.

#if Tool
  import Weir
  import WeirContracts

  enum SchemaText {
    /// Returns the text of a schema.
    static func of(_ schema: Schema) -> String {
      var text = ""
      for (index, version) in schema.events.enumerated() {
        if index > 0 { text += "\n" }
        text += heading(version, number(of: index, in: schema)) + "\n" + fields(version.type.fields)
        if version.isPartial { text += "  and more fields, which are not listed\n" }
      }
      if schema.events.isEmpty { text += "no events\n" }
      if schema.others > 0 {
        text += "\n\(Quantity.count(schema.others)) more events, of other forms than the \(schema.events.count) above\n"
      }
      if schema.undefined > 0 {
        text += "\n\(Quantity.count(schema.undefined)) more events, whose definitions are lost to damage\n"
      }
      return text
    }

    /// Returns the number of this form among the forms of its event: (2, 3) for the second of three; `nil` for the only
    /// form.
    private static func number(of index: Int, in schema: Schema) -> (Int, of: Int)? {
      let name = schema.events[index].type.name
      let same = schema.events.indices.filter { schema.events[$0].type.name == name }
      guard same.count > 1, let place = same.firstIndex(of: index) else { return nil }
      return (place + 1, same.count)
    }

    /// Returns a line such as
    /// "checkout.completed  id 3  page_action  formerly checkout.done  12 events, offsets 0 to 40".
    private static func heading(_ version: Schema.EventVersion, _ number: (Int, of: Int)?) -> String {
      var parts = [Terminal.name(version.type.name)]
      if let (place, count) = number { parts.append("form \(place) of \(count)") }
      if let id = version.type.wireID { parts.append("id \(id)") }
      if let kind = version.type.kind { parts.append(kind.rawValue) }
      if let formerly = formerly(version.type.formerNames) { parts.append(formerly) }
      if version.isInferred { parts.append("as seen") }
      if let first = version.firstOffset, let last = version.lastOffset {
        let events = version.count == 1 ? "1 event" : "\(Quantity.count(version.count)) events"
        parts.append(version.count == 1 ? "\(events), offset \(first)" : "\(events), offsets \(first) to \(last)")
      }
      return parts.joined(separator: "  ")
    }

    /// Returns the fields in columns: name, kind, marks. The fields of a nested object follow the object, indented.
    private static func fields(_ fields: [Field]) -> String {
      let rows = rows(fields, indent: 1)
      let name = rows.map(\.0.count).max() ?? 0
      let kind = rows.map(\.1.count).max() ?? 0
      return rows.map { row in
        let line = padded(row.0, to: name) + "  " + padded(row.1, to: kind) + "  " + row.2
        return line.trimmingEnd() + "\n"
      }.joined()
    }

    private static func rows(_ fields: [Field], indent: Int) -> [(String, String, String)] {
      fields.flatMap { field in
        let marks = [field.isSensitive ? "sensitive" : nil, formerly(field.formerNames)].compactMap { $0 }
        let name = String(repeating: "  ", count: indent) + Terminal.name(field.name)
        return [(name, field.kind.text, marks.joined(separator: ", "))]
          + rows(field.kind.nested, indent: indent + 1)
      }
    }

    private static func formerly(_ names: [String]) -> String? {
      names.isEmpty ? nil : "formerly " + names.map(Terminal.name).joined(separator: ", ")
    }

    private static func padded(_ text: String, to width: Int) -> String {
      text + String(repeating: " ", count: max(0, width - text.count))
    }
  }

  extension FieldKind {
    /// The fields of the object that this kind is or contains; otherwise empty.
    fileprivate var nested: [Field] {
      switch self {
      case .optional(let inner), .array(let inner): inner.nested
      case .object(let fields): fields
      default: []
      }
    }
  }

  extension String {
    fileprivate func trimmingEnd() -> String {
      var text = self[...]
      while text.last == " " { text.removeLast() }
      return String(text)
    }
  }
#endif

// EventFormat: the formats of `weir cat`, which prints one event per line.

#if Tool
  import ArgumentParser
  import Weir
  import WeirDelivery
  import WeirJSON

  enum EventFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
    case jsonl
    case csv
    case text

    /// Returns the text before the first event.
    func header(withContext: Bool) -> String {
      guard self == .csv else { return "" }
      return "offset,id,time,event,fields" + (withContext ? EventContextFormat.header : "") + "\n"
    }

    /// Appends the event and a newline. The caller redacts sensitive values.
    func append(_ event: StoredEvent, withContext: Bool, to bytes: inout [UInt8]) {
      switch self {
      case .jsonl:
        Self.appendJSON(event, to: &bytes)
        if withContext { EventContextFormat.appendJSON(event, to: &bytes) }
        bytes.append(UInt8(ascii: "}"))
      case .csv:
        Self.appendCSV(event, to: &bytes)
        if withContext { EventContextFormat.appendCSV(event, to: &bytes) }
      case .text:
        Self.appendText(event, to: &bytes)
        if withContext { EventContextFormat.appendText(event, to: &bytes) }
      }
      bytes.append(UInt8(ascii: "\n"))
    }

    /// Appends a JSON object without the closing brace.
    private static func appendJSON(_ event: StoredEvent, to bytes: inout [UInt8]) {
      JSONText.append(literal: "{\"offset\":", to: &bytes)
      JSONText.append(event.offset, to: &bytes)
      JSONText.append(literal: ",\"id\":\"", to: &bytes)
      JSONText.append(raw: event.id.description, to: &bytes)
      JSONText.append(literal: "\",\"time\":\"", to: &bytes)
      event.time.append(to: &bytes)
      JSONText.append(literal: "\",\"event\":", to: &bytes)
      JSONText.append(event.name, to: &bytes)
      JSONText.append(literal: ",\"fields\":", to: &bytes)
      JSONText.append(event.fields, to: &bytes)
    }

    /// Appends a row as in RFC 4180, but with a newline as the line end, as usual on Linux. `fields` is JSON.
    private static func appendCSV(_ event: StoredEvent, to bytes: inout [UInt8]) {
      JSONText.append(event.offset, to: &bytes)
      JSONText.append(raw: ",\(event.id),", to: &bytes)
      event.time.append(to: &bytes)
      bytes.append(UInt8(ascii: ","))
      CSVTable.appendQuoted(Array(cell(ofName: event.name).utf8), to: &bytes)
      bytes.append(UInt8(ascii: ","))
      var fields: [UInt8] = []
      JSONText.append(event.fields, to: &fields)
      CSVTable.appendQuoted(fields, to: &bytes)
    }

    /// Returns the name as it is, or as JSON if the name has control characters, which are dangerous in a terminal. A
    /// name that begins with a quotation mark is JSON too, so that the two forms differ.
    private static func cell(ofName name: String) -> String {
      guard name.utf8.first == UInt8(ascii: "\"") || name.unicodeScalars.contains(where: Terminal.isControl) else {
        return name
      }
      return Terminal.quoted(name)
    }

    /// Appends text for people:
    /// "12  2026-11-21T00:00:00.123456789Z  checkout.completed  order=7 total=19.9 coupon="SPRING"".
    private static func appendText(_ event: StoredEvent, to bytes: inout [UInt8]) {
      JSONText.append(event.offset, to: &bytes)
      JSONText.append(literal: "  ", to: &bytes)
      event.time.append(to: &bytes)
      JSONText.append(literal: "  ", to: &bytes)
      JSONText.append(raw: Terminal.name(event.name), to: &bytes)
      appendText(event.fields, to: &bytes)
    }

    /// Appends two spaces, then name=value for each field.
    static func appendText(_ fields: FieldObject, to bytes: inout [UInt8]) {
      for (index, field) in fields.enumerated() {
        JSONText.append(literal: index == 0 ? "  " : " ", to: &bytes)
        JSONText.append(raw: Terminal.name(field.name), to: &bytes)
        bytes.append(UInt8(ascii: "="))
        JSONText.append(field.value, to: &bytes)
      }
    }
  }
#endif

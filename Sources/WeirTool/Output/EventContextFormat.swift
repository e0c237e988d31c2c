// EventContextFormat: the keys and columns that `weir cat --context` adds to an event: the context, and the further
// ids.

#if Tool
  import Weir
  import WeirDelivery
  import WeirJSON

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  enum EventContextFormat {
    /// The names of the CSV columns, with a comma before them.
    static let header = ",host,uuid,kind,monotonic,boot,user,view,context"

    /// Appends all keys to a JSON object that is not closed yet.
    static func appendJSON(_ event: StoredEvent, to bytes: inout [UInt8]) {
      for (name, value) in values(event) {
        JSONText.append(literal: ",", to: &bytes)
        JSONText.append(name, to: &bytes)
        JSONText.append(literal: ":", to: &bytes)
        JSONText.append(value, to: &bytes)
      }
    }

    /// Appends the columns. A null value is an empty cell; objects are JSON.
    static func appendCSV(_ event: StoredEvent, to bytes: inout [UInt8]) {
      for (_, value) in values(event) {
        bytes.append(UInt8(ascii: ","))
        switch value {
        case .null: continue
        case .string(let text): CSVTable.appendQuoted(Array(text.utf8), to: &bytes)
        case .uuid(let uuid): JSONText.append(raw: uuid.uuidString, to: &bytes)
        default:
          var cell: [UInt8] = []
          JSONText.append(value, to: &cell)
          CSVTable.appendQuoted(cell, to: &bytes)
        }
      }
    }

    /// Appends text for people, after a bar: "  |  kind="page_view" user="u7" view="Cart" app="shop"". Appends nothing
    /// if there is neither host nor kind nor context.
    static func appendText(_ event: StoredEvent, to bytes: inout [UInt8]) {
      let context = event.context
      var shown: [(String, FieldValue)] = []
      if let host = event.host { shown.append(("host", .string(host))) }
      if let kind = event.kind { shown.append(("kind", .string(kind.rawValue))) }
      if let user = context.user {
        shown.append(("user", .string(user.id)))
        shown += user.traits.map { ("user." + $0.name, $0.value) }
      }
      if let view = context.view { shown.append(("view", .string(view.name))) }
      shown += joined(context).map { ($0.name, $0.value) }
      guard !shown.isEmpty else { return }
      JSONText.append(literal: "  |", to: &bytes)
      EventFormat.appendText(FieldObject(shown), to: &bytes)
    }

    private static func values(_ event: StoredEvent) -> [(String, FieldValue)] {
      let context = event.context
      let user: FieldValue? = context.user.map { .object(["id": .string($0.id), "traits": .object($0.traits)]) }
      let view: FieldValue? = context.view.map { view in
        .object([
          "id": .string(view.id), "name": .string(view.name), "parent": view.parent.map { .string($0) } ?? .null,
        ])
      }
      return [
        ("host", event.host.map { .string($0) } ?? .null),
        ("uuid", .uuid(event.id.uuid)),
        ("kind", event.kind.map { .string($0.rawValue) } ?? .null),
        ("monotonic", event.monotonicNanoseconds.map { .int($0) } ?? .null),
        ("boot", event.bootID.map { .uuid($0) } ?? .null),
        ("user", user ?? .null), ("view", view ?? .null), ("context", .object(joined(context))),
      ]
    }

    /// Returns global and bound fields as one object. A bound field replaces a global field of the same name.
    private static func joined(_ context: EventContext) -> FieldObject {
      let globals = context.globals.filter { context.fields[$0.name] == nil }
      return FieldObject(globals + Array(context.fields))
    }
  }
#endif

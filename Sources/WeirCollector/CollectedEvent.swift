// CollectedEvent and RejectedEvent: what the collector's two logs hold.

#if Collector
  import WeirJSON
  package import Weir

  /// An event as the collector took it: one form for what comes in the forms of all vendors.
  ///
  /// In the log it has the name that it came under, or ``unnamed`` where a log can't have that name, and fields of the
  /// same names as here; those that are nil or empty are left out. ``properties`` and ``context`` are JSON texts there
  /// where they nest too deep for a log.
  package struct CollectedEvent: Hashable, Sendable {
    /// The name in the log of an event whose own name is empty, too long, or begins with `weir.`, other than
    /// `weir.gap`.
    package static let unnamed = "collected"

    /// Its number in the collector's log; nil for one that is not there yet.
    package internal(set) var offset: Offset?
    /// When the collector took it; nil for one that it has not.
    package internal(set) var received: Timestamp?
    /// Whose form it came in: `segment`, `mixpanel`, `amplitude`, `posthog`, `ga4`, `clickhouse`, `otlp` or
    /// `weir`.
    package var vendor: String
    /// What tells it from others: `messageId`, `$insert_id`, `insert_id`, `uuid`, `weir_id`, `log.record.uid` or `id`.
    /// Events that come again have the same. Nil if it came without.
    package var id: String?
    /// When it was captured, as it says itself; nil if it does not.
    package var time: Timestamp?
    /// The event's name.
    package var name: String
    /// What sort of call it came in, where the vendor has several, such as `identify`.
    package var type: String?
    /// Whom it is about; nil if it does not say.
    package var user: String?
    /// The event's fields.
    package var properties: FieldObject
    /// What else it came with, such as Segment's context or OpenTelemetry's resource.
    package var context: FieldObject

    init(
      vendor: String, id: String?, time: Timestamp?, name: String, type: String? = nil, user: String? = nil,
      properties: FieldObject = [:], context: FieldObject = [:]
    ) {
      self.vendor = vendor
      self.id = id
      self.time = time
      self.name = name
      self.type = type
      self.user = user
      self.properties = properties
      self.context = context
    }

    /// Reads an event of a collector's log; nil for the log's own.
    package init?(_ stored: StoredEvent) {
      guard case .string(let vendor)? = stored.fields["vendor"], case .string(let name)? = stored.fields["name"] else {
        return nil
      }
      self.init(
        vendor: vendor, id: stored.fields.text("id"), time: stored.fields.text("time").flatMap(TimeText.timestamp),
        name: name, type: stored.fields.text("type"), user: stored.fields.text("user"),
        properties: Self.nested(stored.fields["properties"]), context: Self.nested(stored.fields["context"]))
      offset = stored.offset
      received = stored.time
    }

    /// The name in the log of a notice that events are missing, `weir.gap`.
    static let gap = "weir_gap"

    /// The name that it has in the log.
    var nameInLog: String {
      if name == "weir.gap" { return Self.gap }
      let isPossible = 1...EventType.maximumNameBytes ~= name.utf8.count && !name.hasPrefix(EventType.reservedPrefix)
      return isPossible && !name.utf8.contains(0) ? name : Self.unnamed
    }

    /// The fields that it has in the log.
    var fields: FieldObject {
      var members: [(String, FieldValue)] = [("vendor", .string(vendor))]
      if let id { members.append(("id", .string(id))) }
      if let time { members.append(("time", .string(time.description))) }
      members.append(("name", .string(name)))
      if let type { members.append(("type", .string(type))) }
      if let user { members.append(("user", .string(user))) }
      members.append(("properties", Self.nested(properties)))
      if !context.isEmpty { members.append(("context", Self.nested(context))) }
      return FieldObject(members)
    }

    /// An object as a field of the log: as JSON where it nests deeper than a log takes, as an event's own fields may,
    /// which lie further out there.
    private static func nested(_ object: FieldObject) -> FieldValue {
      guard FieldValue.object(object).depth > maximumDepth else { return .object(object) }
      var text: [UInt8] = []
      JSONText.append(object, to: &text)
      return .string(String(decoding: text, as: UTF8.self))
    }

    private static func nested(_ value: FieldValue?) -> FieldObject {
      switch value {
      case .object(let object)?: return object
      case .string(let text)?:
        let read = try? JSONReader.read(Array(text.utf8).span, limits: VendorLimits.json)
        if case .object(let object)? = read { return object }
        return [:]
      default: return [:]
      }
    }
  }

  /// An event, or a whole body, that the collector did not take.
  package struct RejectedEvent: Hashable, Sendable {
    static let name = "rejected"
    /// How much of what came is kept.
    static let textBytes = 16 << 10

    /// Its number in the log of what was rejected; nil for one that is not there yet.
    package internal(set) var offset: Offset?
    /// When it came; nil for one that is not in the log yet.
    package internal(set) var received: Timestamp?
    /// In whose form it came.
    package var vendor: String
    /// Its place in its batch, from 0; nil if it is about the whole body.
    package var index: Int?
    /// What tells it from others, as ``CollectedEvent/id`` does; nil if it came without.
    package var id: String?
    /// The field that is at fault; empty if it is about the whole event or body.
    package var field: String
    /// Why it was not taken.
    package var reason: String
    /// The event as JSON, or the body, the first 16 KiB.
    package var text: String

    init(vendor: String, index: Int?, id: String?, field: String, reason: String, text: String) {
      self.vendor = vendor
      self.index = index
      self.id = id
      self.field = field
      self.reason = reason
      self.text = text
    }

    /// Reads an event of the log `rejected`; nil for the log's own.
    package init?(_ stored: StoredEvent) {
      guard stored.name == Self.name, let vendor = stored.fields.text("vendor") else { return nil }
      var index: Int?
      if case .int(let number)? = stored.fields["index"] { index = Int(number) }
      self.init(
        vendor: vendor, index: index, id: stored.fields.text("id"), field: stored.fields.text("field") ?? "",
        reason: stored.fields.text("reason") ?? "", text: stored.fields.text("text") ?? "")
      offset = stored.offset
      received = stored.time
    }

    /// The fields that it has in the log.
    var fields: FieldObject {
      var members: [(String, FieldValue)] = [("vendor", .string(vendor))]
      if let index { members.append(("index", .int(Int64(index)))) }
      if let id { members.append(("id", .string(id.cut(to: 1024)))) }
      members.append(("field", .string(field.cut(to: 1024))))
      members.append(("reason", .string(reason.cut(to: 4096))))
      members.append(("text", .string(Scrubbing.scrubbed(text.cut(to: Self.textBytes)))))
      return FieldObject(members)
    }
  }
#endif

// A contract of a program's events as a contract of the collector's: the same fields, one object further in.

#if Collector
  import WeirContracts
  import Weir

  extension Contract {
    /// The contract for events as the collector's log has them: their fields are in the object `properties`.
    ///
    /// JSON has neither bytes nor UUIDs nor dates. Where the contract wants one, a text is as good here, and what else
    /// it asks of the value goes unchecked. So do rules for the context, whose parts a vendor's form has elsewhere, or
    /// not at all.
    func forCollected() -> Contract {
      var events = events
      // The notice that events are missing is no event of the program.
      if !events.contains(where: { $0.name == CollectedEvent.gap }) {
        events.append(EventRule(CollectedEvent.gap, open: true, fields: []))
      }
      return Contract(
        name, version: version, allowsUnknownEvents: allowsUnknownEvents,
        events: events.map { rule in
          var rule = rule
          // A log's declarations of what sort an event is do not come through a vendor's form.
          rule.kind = nil
          let fields = rule.fields.filter { !$0.isOfContext }.map { field in
            var field = field.inJSON
            field.name = CollectedContract.prefix + field.name
            return field
          }
          let named = Set(fields.map(\.name))
          let annotations = CollectedContract.annotations.filter { !named.contains($0.name) }
          rule.fields = CollectedContract.envelope
          rule.fields += rule.isOpen && fields.isEmpty ? [CollectedContract.anyFields] : fields + annotations
          return rule
        })
    }
  }

  enum CollectedContract {
    static let prefix = "properties."

    /// What the collector's log has of every event beside its fields.
    fileprivate static let envelope =
      ["vendor", "id", "time", "name", "type", "user", "context"].map { FieldRule($0, mandatory: false) }

    /// What Weir adds to an event for a vendor: the contract need not name it.
    fileprivate static let annotations = ["kind", "violations", "defaulted", "duplicate_of"].map {
      FieldRule(prefix + EventType.propertyPrefix + $0, mandatory: false)
    }

    /// The fields of an open event that nothing is said about.
    fileprivate static let anyFields = FieldRule("properties", mandatory: false, .object)

    /// The field's path in the contract as its author wrote it.
    static func original(_ field: String) -> String {
      if field.hasPrefix(prefix) { return String(field.dropFirst(prefix.count)) }
      // What is said of the object is said of the event.
      return field == "properties" ? "" : field
    }
  }

  extension FieldRule {
    fileprivate var inJSON: FieldRule {
      var rule = self
      rule.fields = rule.fields.map(\.inJSON)
      guard [.bytes, .uuid, .date].contains(type) else { return rule }
      var plain = FieldRule(
        name, mandatory: isMandatory, type == .date ? .any : .string, default: defaultValue.map { _ in .string("") })
      plain.isSensitive = isSensitive
      plain.isDeprecated = isDeprecated
      plain.description = description
      return plain
    }
  }
#endif

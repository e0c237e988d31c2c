// FlatFields: an event's fields and context as the flat list of properties that vendors expect.

#if HTTP
  import WeirDelivery
  import Weir

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  extension PreparedEvent {
    /// Returns the event's fields, then its bound fields, its view, the global fields and the annotations, with unique
    /// names. The annotations keep their names.
    ///
    /// A name that is already used, by an earlier field or by one of `reserved`, gets the suffix `_2`, `_3` and so on,
    /// as with `EventMapper`. No value is lost. An event's own field keeps its name if a global field has the same
    /// name.
    func properties(reserved: [String] = [], view: Bool = true) -> FieldObject {
      let annotations = annotationProperties
      var names = UniqueNames(reserved + annotations.map(\.name))
      var members: [FieldObject.Member] = []
      members.reserveCapacity(fields.count + context.fields.count + context.globals.count + annotations.count + 3)
      func add(_ name: String, _ value: FieldValue) {
        members.append(.init(name: names.unique(name), value: value.withUniqueNames))
      }
      for field in fields { add(field.name, field.value) }
      for field in context.fields { add(field.name, field.value) }
      if view, let shown = context.view {
        add("view_id", .string(shown.id))
        add("view_name", .string(shown.name))
        if let parent = shown.parent { add("view_parent", .string(parent)) }
      }
      for field in context.globals { add(field.name, field.value) }
      return FieldObject(members + annotations)
    }

    /// The id of the event's user; `nil` if there is no user, or the id is empty.
    var userID: String? {
      guard let id = context.user?.id, !id.isEmpty else { return nil }
      return id
    }

    /// The id of an event without a user: the opening that captured the event. Events of one run of the program have
    /// the same id, and an event has the same id whenever it is sent.
    var anonymousID: String { "weir-" + stored.id.description.prefix(16) }

    /// Milliseconds since 1970, rounded down.
    var milliseconds: Int64 {
      let (quotient, rest) = stored.time.nanosecondsSince1970.quotientAndRemainder(dividingBy: 1_000_000)
      return rest < 0 ? quotient - 1 : quotient
    }
  }

  /// The used names, and the next free one.
  struct UniqueNames {
    private var taken: Set<String>

    init(_ reserved: [String]) { taken = Set(reserved) }

    mutating func unique(_ name: String) -> String {
      if taken.insert(name).inserted { return name }
      var number = 2
      while !taken.insert("\(name)_\(number)").inserted { number += 1 }
      return "\(name)_\(number)"
    }
  }

  extension FieldObject {
    /// Returns the members with nested objects replaced by their members, under names such as `price_amount`. Arrays
    /// stay. Names may repeat.
    var leaves: [Member] {
      flatMap { member -> [Member] in
        guard case .object(let object) = member.value, !object.isEmpty else { return [member] }
        return object.leaves.map { Member(name: "\(member.name)_\($0.name)", value: $0.value) }
      }
    }

    /// Returns the same fields with unique names, nested fields included.
    var withUniqueNames: FieldObject {
      var names = UniqueNames([])
      return FieldObject(map { Member(name: names.unique($0.name), value: $0.value.withUniqueNames) })
    }
  }

  extension FieldValue {
    var withUniqueNames: FieldValue {
      switch self {
      case .object(let object): .object(object.withUniqueNames)
      case .array(let values): .array(values.map(\.withUniqueNames))
      default: self
      }
    }
  }

  extension EventJSON {
    /// The JSON form for vendors whose readers treat every number as a double: large numbers, such as an order's, must
    /// arrive unchanged.
    static let vendor: EventJSON = {
      var form = EventJSON()
      form.hasLargeIntegersAsText = true
      return form
    }()
  }
#endif

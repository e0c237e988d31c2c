// FlatFields: an event's fields and context as the one flat list of properties that vendors know.

#if HTTP
  import WeirDelivery
  import Weir

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  extension PreparedEvent {
    /// The event's fields, then what was bound around it, the view, and the global fields, each name once.
    ///
    /// A name that is taken, by a field before or by one of `reserved`, gets `_2`, `_3` and so on, as with
    /// `EventMapper`: no value is lost. So an event's own field keeps its name where a global one has the same.
    func properties(reserved: [String] = [], view: Bool = true) -> FieldObject {
      var names = UniqueNames(reserved)
      var members: [FieldObject.Member] = []
      members.reserveCapacity(fields.count + context.fields.count + context.globals.count + 3)
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
      return FieldObject(members)
    }

    /// The id of the user that the event is for; nil if there is none, or an empty one.
    var userID: String? {
      guard let id = context.user?.id, !id.isEmpty else { return nil }
      return id
    }

    /// Who an event is for whose user is not known: the opening that captured it. The same for all of them that one run
    /// of the program captures, and for each of them the same whenever it is sent.
    var anonymousID: String { "weir-" + stored.id.description.prefix(16) }

    /// Milliseconds since 1970, downwards.
    var milliseconds: Int64 {
      let (quotient, rest) = stored.time.nanosecondsSince1970.quotientAndRemainder(dividingBy: 1_000_000)
      return rest < 0 ? quotient - 1 : quotient
    }
  }

  /// Names that are taken, and the next free one.
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
    /// The same with each name once, inside too.
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
    /// For vendors whose readers take every number for a double: an order's number must arrive as it was.
    static let vendor: EventJSON = {
      var form = EventJSON()
      form.hasLargeIntegersAsText = true
      return form
    }()
  }
#endif

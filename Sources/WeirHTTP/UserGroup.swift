// UserGroup: the groups of a user, such as the user's company, which some vendors know apart from users.

#if HTTP
  import Weir

  /// A group that a user belongs to, as a trait of the user says: `"company": {"id": "c7", "name": "Acme"}`, or the
  /// group's id alone, `"company": "c7"`.
  struct UserGroup {
    /// The kind of group: the trait's name.
    var kind: String
    var id: String
    /// What is known about the group.
    var traits: FieldObject
  }

  extension EventUser {
    /// The user's groups: the traits with these names that have an id.
    func groups(_ kinds: [String]) -> [UserGroup] {
      kinds.compactMap { kind in
        switch traits[kind] {
        case .object(let object)?:
          guard let id = object["id"]?.groupID else { return nil }
          return UserGroup(kind: kind, id: id, traits: FieldObject(object.filter { $0.name != "id" }))
        case let value?: return value.groupID.map { UserGroup(kind: kind, id: $0, traits: [:]) }
        case nil: return nil
        }
      }
    }

    /// The groups' ids by kind; `nil` for none.
    func groupIDs(_ kinds: [String]) -> FieldValue? {
      let groups = groups(kinds)
      return groups.isEmpty ? nil : .object(FieldObject(groups.map { ($0.kind, .string($0.id)) }))
    }
  }

  extension FieldValue {
    fileprivate var groupID: String? {
      switch self {
      case .string(let id): id.isEmpty ? nil : id
      case .int(let id): "\(id)"
      case .uint(let id): "\(id)"
      default: nil
      }
    }
  }
#endif

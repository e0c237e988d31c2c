// Mappers of names: snake_case, camelCase, other names, and what happens to names that collide.

import Weir

extension EventMapper {
  /// Names in snake_case: those of events, of fields however deep they are nested, and of the context's fields and
  /// traits.
  ///
  /// | as the program has it | as the provider gets it |
  /// |---|---|
  /// | `userID`, `userIDs` | `user_id`, `user_ids` |
  /// | `HTTPStatus`, `parseURLPath2` | `http_status`, `parse_url_path2` |
  /// | `eventsV2`, `v2Events`, `UTF8` | `events_v2`, `v2_events`, `utf8` |
  /// | `OAuth2Token` | `o_auth2_token`; `oauth2_token` with `words: ["OAuth"]` |
  /// | `already_snake`, `_id` | the same |
  /// | `Checkout.completed` | `checkout_completed`; `checkout.completed` with `separator: "."` |
  /// | `page-view` | `page_view` |
  /// | `größeÄndern` | `größe_ändern` |
  ///
  /// `separator` takes the place of dots. `words` are names that are one word against the rules, exactly as they are
  /// written. What is in snake_case already stays as it is.
  public static func snakeCase(separator: String = "_", words: [String] = []) -> EventMapper {
    styled(separator, words, \.snakeCase)
  }

  /// Names in camelCase, otherwise as ``snakeCase(separator:words:)``: `user_id` and `UserID` become `userId`.
  public static func camelCase(separator: String = ".", words: [String] = []) -> EventMapper {
    styled(separator, words, \.camelCase)
  }

  /// Other names for fields of the event itself, by their name as it is by then; in all events, or in those named
  /// `event`.
  public static func renaming(fields names: [String: String], in event: String? = nil) -> EventMapper {
    EventMapper(step: { prepared, counts in
      guard event == nil || event == prepared.name else { return true }
      prepared.fields = prepared.fields.renamed(counting: &counts) { names[$0] ?? $0 }
      return true
    })
  }

  private static func styled(
    _ separator: String, _ words: [String], _ style: @escaping @Sendable (NameWords) -> String
  ) -> EventMapper {
    let kept = words.filter { !$0.isEmpty }.map(Array.init).sorted { $0.count > $1.count }
    let names = MappedNames { name in
      name.split(separator: ".", omittingEmptySubsequences: false)
        .map { style(NameWords($0, keeping: kept)) }.joined(separator: separator)
    }
    return EventMapper(step: { event, counts in
      event.name = names[event.name]
      event.mapObjects { $0.styled(names, &counts) }
      return true
    })
  }
}

/// Names and what they become. Taking a name apart costs a microsecond or two, and there are few different ones.
private final class MappedNames: Sendable {
  private static let limit = 4096
  /// Longer names are not kept: those that a program declares are shorter, and what is kept takes a megabyte or two.
  private static let longestName = 256
  private let known = Lock<[String: String]>([:])
  private let map: @Sendable (String) -> String

  init(_ map: @escaping @Sendable (String) -> String) {
    self.map = map
  }

  subscript(name: String) -> String {
    guard name.utf8.count <= Self.longestName else { return map(name) }
    return known.withLock { known in
      if let mapped = known[name] { return mapped }
      let mapped = map(name)
      // Names that an event makes up as it goes (a dictionary's keys) must not take memory for ever.
      if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
      known[name] = mapped
      return mapped
    }
  }
}

extension FieldObject {
  fileprivate func styled(_ names: MappedNames, _ counts: inout PreparedEvent.Counts) -> FieldObject {
    mappingInner { $0.styled(names, &counts) }.renamed(counting: &counts) { names[$0] }
  }

  /// The same fields under other names, each under one of its own.
  func renamed(
    counting counts: inout PreparedEvent.Counts, limit: Int = .max, _ map: (String) -> String
  ) -> FieldObject {
    var renamed = members
    var isChanged = [Bool](repeating: false, count: members.count)
    for index in renamed.indices {
      renamed[index].name = map(members[index].name)
      isChanged[index] = renamed[index].name != members[index].name
    }
    return FieldObject(told: renamed, apart: isChanged, limit: limit, &counts)
  }

  /// Fields of which some got a new name. Where two have the same, one that is not new keeps it, otherwise the first,
  /// and the others get a number, within `limit` bytes: see ``EventMapper``.
  init(told renamed: [Member], apart isChanged: [Bool], limit: Int = .max, _ counts: inout PreparedEvent.Counts) {
    self.init(renamed)
    guard isChanged.contains(true), Set(members.map(\.name)).count < members.count else { return }
    var taken = Set(members.indices.filter { !isChanged[$0] }.map { members[$0].name })
    // The next number of each name. Names that may come out the same once they are cut count together.
    var next: [String: Int] = [:]
    for index in members.indices where isChanged[index] && !taken.insert(members[index].name).inserted {
      let name = members[index].name
      let stem = name.cut(to: Swift.max(limit - 8, 0))
      var number = next[stem] ?? 2
      repeat {
        let suffix = "_\(number)"
        members[index].name = name.cut(to: limit - suffix.utf8.count) + suffix
        number += 1
      } while !taken.insert(members[index].name).inserted
      next[stem] = number
      counts.renamed += 1
    }
  }
}

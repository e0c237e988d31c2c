// Mappers of names: snake_case, camelCase, other names, and the handling of names that collide.

import Weir
import WeirJSON

extension EventMapper {
  /// Converts names to snake_case: the names of events, of fields at any depth, and of the context's fields and traits.
  ///
  /// | name in the program | name for the provider |
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
  /// `separator` replaces dots. `words` are exceptions from the rules: each counts as one word, exactly as it is
  /// written. Names that are already in snake_case are unchanged.
  public static func snakeCase(separator: String = "_", words: [String] = []) -> EventMapper {
    styled("snake_case", separator, usual: "_", words, \.snakeCase)
  }

  /// Converts names to camelCase, otherwise like ``snakeCase(separator:words:)``: `user_id` and `UserID` become
  /// `userId`.
  public static func camelCase(separator: String = ".", words: [String] = []) -> EventMapper {
    styled("camel_case", separator, usual: ".", words, \.camelCase)
  }

  /// Converts the names of events to words for people: `post.liked` and `PostLiked` become `Post Liked`. Names of
  /// fields are unchanged. `words` are exceptions as in ``snakeCase(separator:words:)``, written as they are.
  public static func titleCase(words: [String] = []) -> EventMapper {
    let kept = Self.kept(words)
    let names = MappedNames { name in
      name.split(separator: ".").map { NameWords($0, keeping: kept).titleCase(keeping: words) }.joined(separator: " ")
    }
    return EventMapper(.step("title_case", [("words", words.isEmpty ? nil : .texts(words))])) { event, _ in
      event.name = names[event.name]
      return true
    }
  }

  /// Renames fields of the event itself, in all events or in the events named `event`. The names of the fields and of
  /// the event are compared as the earlier mappers made them.
  public static func renaming(fields names: [String: String], in event: String? = nil) -> EventMapper {
    let form = MapperForm.step("renaming", [("fields", .names(names)), ("in", event.map(DocumentNode.text))])
    return EventMapper(form) { prepared, counts in
      guard event == nil || event == prepared.name else { return true }
      prepared.fields = prepared.fields.renamed(counting: &counts) { names[$0] ?? $0 }
      return true
    }
  }

  /// The exceptions, the longest first.
  private static func kept(_ words: [String]) -> [[Character]] {
    words.filter { !$0.isEmpty }.map(Array.init).sorted { $0.count > $1.count }
  }

  private static func styled(
    _ step: String, _ separator: String, usual: String, _ words: [String],
    _ style: @escaping @Sendable (NameWords) -> String
  ) -> EventMapper {
    let kept = Self.kept(words)
    let names = MappedNames { name in
      name.split(separator: ".", omittingEmptySubsequences: false)
        .map { style(NameWords($0, keeping: kept)) }.joined(separator: separator)
    }
    let form = MapperForm.step(
      step,
      [("separator", separator == usual ? nil : .text(separator)), ("words", words.isEmpty ? nil : .texts(words))])
    return EventMapper(form) { event, counts in
      event.name = names[event.name]
      event.mapObjects { $0.styled(names, &counts) }
      return true
    }
  }
}

/// A cache of mapped names. Splitting a name into words costs one or two microseconds, and there are few different
/// names.
private final class MappedNames: Sendable {
  private static let limit = 4096
  /// Longer names are not cached. The names that a program declares are shorter, and the cache takes one or two
  /// megabytes.
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
      // Names that are made up at run time, such as a dictionary's keys, must not take memory for ever.
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

  /// Returns the same fields under mapped, distinct names.
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

  /// Creates fields of which some were renamed. If two fields have the same name, a field that was not renamed keeps
  /// the name, otherwise the first field does. The others get a number, within `limit` bytes: see ``EventMapper``.
  init(told renamed: [Member], apart isChanged: [Bool], limit: Int = .max, _ counts: inout PreparedEvent.Counts) {
    self.init(renamed)
    guard isChanged.contains(true), Set(members.map(\.name)).count < members.count else { return }
    var taken = Set(members.indices.filter { !isChanged[$0] }.map { members[$0].name })
    // The next number for each name. Names that may be the same after a cut share their numbers.
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

// ScopesInLog: the scopes that are open, from their events.

import Weir

/// Follows the events of scopes, `scope.entered` and `scope.exited`: see `Scope` of WeirScopes.
///
/// Knows the scopes that began since the following did. Belongs to one thread at a time.
struct ScopesInLog {
  /// The events that have to be given.
  static let entered = "scope.entered"
  static let exited = "scope.exited"
  private static let most = 10_000
  private static let mostLines = 50
  /// Of the texts of a scope: an event may have megabytes.
  private static let mostLetters = 200

  private var open: [String: (name: String, user: String?, since: Timestamp)] = [:]
  private var opening: UInt64 = 0

  /// Takes an event of a scope. A scope ends with its process: the next opening has none of those before.
  mutating func take(_ event: StoredEvent) {
    if event.id.opening != opening {
      opening = event.id.opening
      open = [:]
    }
    guard let id = event.context.view?.id else { return }
    if event.name == Self.exited { open[id.cut(to: Self.mostLetters)] = nil }
    guard event.name == Self.entered, open.count < Self.most, case .string(let name)? = event.fields["name"] else {
      return
    }
    open[id.cut(to: Self.mostLetters)] = (
      name.cut(to: Self.mostLetters), event.context.user?.id.cut(to: Self.mostLetters), event.time
    )
  }

  /// A line for each open scope, the oldest first.
  func lines(at time: Timestamp) -> [String] {
    let sorted = open.values.sorted { $0.since < $1.since }
    let lines = sorted.prefix(Self.mostLines).map { scope in
      let seconds = (Double(time.nanosecondsSince1970) - Double(scope.since.nanosecondsSince1970)) / 1e9
      let rounded = (max(0, seconds) * 10).rounded() / 10
      return "\(scope.name)\(scope.user.map { " of \($0)" } ?? ""), open for \(rounded) s"
    }
    return sorted.count > lines.count ? lines + ["and \(sorted.count - lines.count) more"] : lines
  }
}

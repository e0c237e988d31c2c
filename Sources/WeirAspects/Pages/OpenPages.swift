// OpenPages: the pages of a tracking that are entered, each with the scope of its showing.

import Weir
import WeirScopes

/// The pages that are entered. Hooks keep it, and it keeps no page.
///
/// Neither pages nor scopes are released under the lock: the end of a page may be what leaves it.
final class OpenPages<Page: AnyObject>: Sendable {
  private struct Entry: Sendable {
    let scope: Scope
    /// Keeps the page's memory, so that no other page gets its address and is taken for it. Sendable because nobody
    /// reads it.
    nonisolated(unsafe) unowned let memory: Page
    /// Sendable because any thread may read a weak reference that none writes.
    nonisolated(unsafe) weak var page: Page?

    init(_ scope: Scope, _ page: Page) {
      self.scope = scope
      memory = page
      self.page = page
    }
  }

  private struct State: Sendable {
    var entries: [ObjectIdentifier: Entry] = [:]
    /// With so many entries, those of pages that ended are looked for: to do so costs a look at each.
    var sweepAt = 0
    var isClosed = false
  }

  /// Up to so many entries are looked at whenever a page is entered.
  private static var few: Int { 32 }

  private let name: String
  private let tracker: Tracker
  private let state = ProcessLock(State())

  init(_ name: String, _ tracker: Tracker) {
    self.name = name
    self.tracker = tracker
  }

  /// How many pages are entered.
  var count: Int { state.withLock { $0.entries.count } ?? 0 }

  /// The scope of the page's showing. A scope that others have ended, such as the life cycle, is none.
  func scope(of page: Page) -> Scope? {
    let scope = state.withLock { $0.entries[ObjectIdentifier(page)]?.scope } ?? nil
    return scope.flatMap { $0.isEnded ? nil : $0 }
  }

  /// Begins a showing, unless the page is entered. Of threads that enter a page at once, one begins it, and the others
  /// wait until that is captured.
  func enter(_ page: Page) {
    guard scope(of: page) == nil else { return }
    sweep()
    let scope = Scope(name, parent: nil, tracker)
    let ended = state.withLock { state -> Entry? in
      let earlier = state.entries[ObjectIdentifier(page)]
      guard !state.isClosed, earlier?.scope.isEnded != false else { return nil }
      // Captured under the lock: whoever finds the scope finds it entered.
      scope.enter()
      state.entries[ObjectIdentifier(page)] = Entry(scope, page)
      return earlier
    }
    withExtendedLifetime(ended) {}
  }

  /// Ends the page's showing.
  func exit(_ page: Page, _ interaction: String) {
    let entry = state.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(page)) } ?? nil
    entry?.scope.end(interaction: interaction)
  }

  /// Runs `body` inside of the page's scope, if the page is entered.
  func inScope(of page: Page, _ body: () -> Void) {
    guard let scope = scope(of: page) else { return body() }
    scope.run(body)
  }

  /// Ends all showings, and begins no other.
  func close() {
    let entries = state.withLock { state in
      defer { state.entries = [:] }
      state.isClosed = true
      return state.entries
    }
    for entry in (entries ?? [:]).values { entry.scope.end(interaction: "released") }
  }

  /// Ends the showings of pages that ended.
  private func sweep() {
    let entries = state.withLock { $0.entries.count < $0.sweepAt ? [:] : $0.entries } ?? [:]
    guard !entries.isEmpty else { return }
    // Not under the lock: to look whether a page is there keeps it for that moment, and so may be what ends it.
    let ended = entries.filter { $0.value.page == nil }
    let gone = state.withLock { state in
      let left = entries.count - ended.count
      state.sweepAt = left < Self.few ? 0 : 2 * left
      return ended.compactMap { key, entry in
        state.entries[key]?.scope === entry.scope ? state.entries.removeValue(forKey: key) : nil
      }
    }
    for entry in gone ?? [] { entry.scope.end(interaction: "released") }
  }
}

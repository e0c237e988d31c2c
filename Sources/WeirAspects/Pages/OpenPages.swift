// OpenPages: the entered pages of a page tracking, each with the scope of its showing.

import Weir
import WeirScopes

/// The pages that are entered. Hooks retain this object. This object retains no page.
///
/// Neither pages nor scopes are released under the lock, because the deinitialiser of a page may exit the page.
final class OpenPages<Page: AnyObject>: Sendable {
  private struct Entry: Sendable {
    let scope: Scope
    /// Keeps the page's memory allocated, so that no other page gets the same address and is mistaken for this page.
    /// Sendable because nobody reads the property.
    nonisolated(unsafe) unowned let memory: Page
    /// Sendable because any thread may read a weak reference that no thread writes.
    nonisolated(unsafe) weak var page: Page?

    init(_ scope: Scope, _ page: Page) {
      self.scope = scope
      memory = page
      self.page = page
    }
  }

  private struct State: Sendable {
    var entries: [ObjectIdentifier: Entry] = [:]
    /// The number of entries from which a sweep looks for pages that ended. A sweep looks at every entry.
    var sweepAt = 0
    var isClosed = false
  }

  /// Up to this number of entries, every entrance of a page sweeps.
  private static var few: Int { 32 }

  private let name: String
  private let tracker: Tracker
  private let state = ProcessLock(State())

  init(_ name: String, _ tracker: Tracker) {
    self.name = name
    self.tracker = tracker
  }

  /// The number of entered pages.
  var count: Int { state.withLock { $0.entries.count } ?? 0 }

  /// The scope of the page's showing; `nil` if the page is not entered, or if somebody else, such as the life cycle,
  /// ended the scope.
  func scope(of page: Page) -> Scope? {
    let scope = state.withLock { $0.entries[ObjectIdentifier(page)]?.scope } ?? nil
    return scope.flatMap { $0.isEnded ? nil : $0 }
  }

  /// Begins a showing, unless the page is entered. If several threads enter a page at once, one thread begins the
  /// showing, and the other threads wait until the entrance is captured.
  func enter(_ page: Page) {
    guard scope(of: page) == nil else { return }
    sweep()
    let scope = Scope(name, parent: nil, tracker)
    let ended = state.withLock { state -> Entry? in
      let earlier = state.entries[ObjectIdentifier(page)]
      guard !state.isClosed, earlier?.scope.isEnded != false else { return nil }
      // The entrance is captured under the lock, so every thread that finds the scope finds an entered scope.
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

  /// Runs `body`: inside of the page's scope, if the page is entered.
  func inScope(of page: Page, _ body: () -> Void) {
    guard let scope = scope(of: page) else { return body() }
    scope.run(body)
  }

  /// Ends all showings. Later entrances begin no showing.
  func close() {
    let entries = state.withLock { state in
      defer { state.entries = [:] }
      state.isClosed = true
      return state.entries
    }
    for entry in (entries ?? [:]).values { entry.scope.end(interaction: "released") }
  }

  /// Ends the showings of pages that no longer exist.
  private func sweep() {
    let entries = state.withLock { $0.entries.count < $0.sweepAt ? [:] : $0.entries } ?? [:]
    guard !entries.isEmpty else { return }
    // Not under the lock: reading the weak reference retains the page for a moment, and the release may end the page.
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

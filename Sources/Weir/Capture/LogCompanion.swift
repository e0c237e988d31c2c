// LogCompanion: what works beside a tracker's log, in modules above this one, and must know of the log's end.

/// Something that uses the open log of a tracker without keeping the tracker.
package protocol LogCompanion: AnyObject, Sendable {
  /// The tracker was closed: nothing more comes into the log. May wait for what is still to be done with the log.
  func logDidClose()

  /// The tracker frees its log. From the return of this call on the companion must not touch the log.
  func logWillBeFreed()
}

extension LogCompanion {
  package func logDidClose() {}
}

/// The companions of one tracker, kept until the tracker ends. In a child of a fork there are none.
package final class LogCompanions: Sendable {
  private let companions = ProcessLock<[any LogCompanion]>([])

  /// The companion of this type; nil if there is none.
  package func first<Companion: LogCompanion>(_ type: Companion.Type) -> Companion? {
    companions.withLock { find(type, $0) } ?? nil
  }

  /// The companion of this type, which is made if there is none; nil in a child of a fork.
  package func first<Companion: LogCompanion>(orAdd make: () -> Companion) -> Companion? {
    companions.withLock { companions in
      if let companion = find(Companion.self, companions) { return companion }
      let companion = make()
      companions.append(companion)
      return companion
    }
  }

  /// Adds a companion. False if there is one of its type already, nil in a child of a fork.
  package func add<Companion: LogCompanion>(_ companion: Companion) -> Bool? {
    companions.withLock { companions in
      guard find(Companion.self, companions) == nil else { return false }
      companions.append(companion)
      return true
    }
  }

  /// Takes a companion out.
  package func remove(_ companion: any LogCompanion) {
    _ = companions.withLock { $0.removeAll { $0 === companion } }
  }

  func tellOfClose() {
    for companion in all { companion.logDidClose() }
  }

  func tellOfFreeing() {
    for companion in all { companion.logWillBeFreed() }
  }

  private var all: [any LogCompanion] { companions.withLock { $0 } ?? [] }

  /// By identity of the type, for a cast would take as long as many captures.
  private func find<Companion: LogCompanion>(
    _ type: Companion.Type, _ companions: [any LogCompanion]
  ) -> Companion? {
    for companion in companions where Swift.type(of: companion) == type {
      return unsafeDowncast(companion, to: Companion.self)
    }
    return nil
  }
}

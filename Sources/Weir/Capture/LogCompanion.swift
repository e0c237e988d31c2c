// LogCompanion: a part of a higher module that works on a tracker's log and must know when the log ends.

/// An object that uses a tracker's open log without retaining the tracker.
package protocol LogCompanion: AnyObject, Sendable {
  /// The tracker is about to be closed: events captured in this call are the log's last.
  func logWillClose()

  /// The tracker was closed: the log gets no further events. May wait for remaining work on the log.
  func logDidClose()

  /// The tracker is about to free its log. Once this call returns, the companion must not touch the log.
  func logWillBeFreed()

  /// The process is about to stand still, or to move to the background.
  func processSuspends()

  /// The process continues after a standstill.
  func processResumes()
}

extension LogCompanion {
  package func logWillClose() {}
  package func logDidClose() {}
  package func processSuspends() {}
  package func processResumes() {}
}

/// The companions of one tracker, retained until the tracker ends. A forked child has no companions.
package final class LogCompanions: Sendable {
  private let companions = ProcessLock<[any LogCompanion]>([])

  /// Returns the companion of this type, or `nil`.
  package func first<Companion: LogCompanion>(_ type: Companion.Type) -> Companion? {
    companions.withLock { find(type, $0) } ?? nil
  }

  /// Returns the companion of this type, after making one if there is none. Returns `nil` in a forked child.
  package func first<Companion: LogCompanion>(orAdd make: () -> Companion) -> Companion? {
    companions.withLock { companions in
      if let companion = find(Companion.self, companions) { return companion }
      let companion = make()
      companions.append(companion)
      return companion
    }
  }

  /// Adds a companion. Returns `false` if there is already a companion of this type, `nil` in a forked child.
  package func add<Companion: LogCompanion>(_ companion: Companion) -> Bool? {
    companions.withLock { companions in
      guard find(Companion.self, companions) == nil else { return false }
      companions.append(companion)
      return true
    }
  }

  /// Removes a companion.
  package func remove(_ companion: any LogCompanion) {
    _ = companions.withLock { $0.removeAll { $0 === companion } }
  }

  func tellOfComingClose() {
    for companion in all { companion.logWillClose() }
  }

  func tellOfClose() {
    for companion in all { companion.logDidClose() }
  }

  package func tellOfSuspension() {
    for companion in all { companion.processSuspends() }
  }

  package func tellOfResumption() {
    for companion in all { companion.processResumes() }
  }

  func tellOfFreeing() {
    for companion in all { companion.logWillBeFreed() }
  }

  private var all: [any LogCompanion] { companions.withLock { $0 } ?? [] }

  /// Compares the types' identities: a cast would take as long as many captures.
  private func find<Companion: LogCompanion>(
    _ type: Companion.Type, _ companions: [any LogCompanion]
  ) -> Companion? {
    for companion in companions where Swift.type(of: companion) == type {
      return unsafeDowncast(companion, to: Companion.self)
    }
    return nil
  }
}

// DeliveryStates: the state of each event at each provider, followed in a log's files as deliveries go on.

package import Weir

/// The states of a log's events at the providers, read from cursors, logs of attempts and dead letters, in any process.
///
/// ``LogDirectory/journey(at:showsSensitive:)`` reads all that is known about one event. This follows what is noted
/// about all of them, so that a list of events can show each one's state as it changes. The notes are limited in size:
/// of an event older than the notes, it is known whether the provider has passed it, and whether it is among the last
/// 65,536 stretches of rejected or withheld events.
///
/// **Threads.** Belongs to one thread at a time. Writes nothing and takes no lock.
package final class DeliveryStates {
  /// The state of an event at a provider.
  package enum State: String, Hashable, Sendable, CaseIterable {
    /// No call of the provider had the event, as far as is noted.
    case pending
    /// A call had the event, and the event will be delivered again.
    case given
    /// The provider has stored the event permanently.
    case acknowledged
    /// The provider will never accept the event. The event is in the dead letters.
    case rejected
    /// The provider's mapper withheld the event.
    case withheld
    /// The event precedes the place where the provider began.
    case before
  }

  /// What was found about an event when it was prepared for a provider.
  package struct Flags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let violating = Flags(rawValue: 1)
    package static let defaulted = Flags(rawValue: 2)
    package static let duplicate = Flags(rawValue: 4)
  }

  private let log: LogDirectory
  private let calls = SystemCalls()
  private var followed: [FollowedProvider] = []

  /// The names of the providers that have cursors, sorted.
  package private(set) var providers: [String] = []

  /// Follows the notes in this log's directory. Reads nothing yet.
  package init(_ log: LogDirectory) {
    self.log = log
  }

  /// Reads what was noted since the last call. Returns the offsets whose states or flags may have changed: all of them
  /// if ``providers`` changed.
  ///
  /// A provider whose files can't be read keeps its states. Throws if the log's directory can't be read.
  package func update() throws(WeirError) -> OffsetSet {
    var changed = OffsetSet()
    let names = try Pins.names(log.path, calls: calls)
    if names != providers {
      let known = Dictionary(uniqueKeysWithValues: zip(providers, followed))
      followed = names.map { known[$0] ?? FollowedProvider($0, of: log) }
      providers = names
      changed.insert(0...Offset.max)
    }
    for provider in followed { provider.update(calls, &changed) }
    return changed
  }

  /// Whether the last ``update()`` left notes for the next one.
  package var isBehind: Bool { followed.contains(where: \.isBehind) }

  /// The event's state at each of the ``providers``, in their order.
  package func states(of offset: Offset) -> [State] { followed.map { $0.state(of: offset) } }

  /// The event's flags at any provider.
  package func flags(of offset: Offset) -> Flags {
    followed.reduce(into: []) { flags, provider in flags.formUnion(provider.flags(of: offset)) }
  }

  /// Returns a range around an offset whose events have the states and flags of this one.
  package func stretch(around offset: Offset) -> ClosedRange<Offset> {
    followed.reduce(0...Offset.max) { $0.clamped(to: $1.stretch(around: offset)) }
  }
}

/// What is noted about one provider.
private final class FollowedProvider {
  /// The number of notes that are read in one update. The rest is read by the next one.
  private static let mostNotes = 100_000
  /// The number of letters that are known by their offset, to find out which of them were redriven.
  private static let mostLetters = 65_536

  private let name: String
  private let log: LogDirectory
  /// A log beside the log, and whether the last look left something.
  private struct Notes {
    var reader: EventReader?
    var isBehind = false
  }

  private var attempts = Notes()
  private var letters = Notes()
  /// The offsets of letters in the dead-letter log, and those of their events.
  private var known: [(letter: Offset, event: Offset)] = []
  /// How far redrives had come when the letters were last looked through.
  private var redriven: Offset = 0

  private var start: Offset = 0
  private var cursor: Offset = 0
  /// Below it the events at or after the cursor are delivered again; 0 without a rewind.
  private var rewound: Offset = 0
  private var given = OffsetSet()
  private var accepted = OffsetSet()
  private var rejected = OffsetSet()
  private var withheld = OffsetSet()
  private var flagged: [(flag: DeliveryStates.Flags, offsets: OffsetSet)] = [
    (.violating, OffsetSet()), (.defaulted, OffsetSet()), (.duplicate, OffsetSet()),
  ]

  init(_ name: String, of log: LogDirectory) {
    self.name = name
    self.log = log
  }

  func state(of offset: Offset) -> DeliveryStates.State {
    if offset < start { return .before }
    // Whatever the provider answered before the rewind. The journey and the ledger say so, too.
    if offset >= cursor, offset < rewound { return given.contains(offset) ? .given : .pending }
    if rejected.contains(offset) { return .rejected }
    if withheld.contains(offset) { return .withheld }
    if offset < cursor || accepted.contains(offset) { return .acknowledged }
    return given.contains(offset) ? .given : .pending
  }

  func flags(of offset: Offset) -> DeliveryStates.Flags {
    flagged.reduce(into: []) { flags, known in if known.offsets.contains(offset) { flags.insert(known.flag) } }
  }

  func stretch(around offset: Offset) -> ClosedRange<Offset> {
    var stretch: ClosedRange<Offset> = 0...Offset.max
    for bound in [start, cursor, rewound] where bound > 0 {
      stretch = stretch.clamped(to: offset < bound ? 0...bound - 1 : bound...Offset.max)
    }
    for set in [given, accepted, rejected, withheld] + flagged.map(\.offsets) {
      stretch = stretch.clamped(to: set.stretch(around: offset))
    }
    return stretch
  }

  var isBehind: Bool { attempts.isBehind || letters.isBehind }

  /// Reads what is new, and adds the offsets whose states or flags may have changed.
  func update(_ calls: SystemCalls, _ changed: inout OffsetSet) {
    readCursor(calls, &changed)
    // Before the attempts: an event may have been accepted after its letter was written.
    readLetters(calls, &changed)
    if !letters.isBehind { readAttempts(&changed) }
  }

  // MARK: The cursor

  private func readCursor(_ calls: SystemCalls, _ changed: inout OffsetSet) {
    guard case .position(let position)? = try? Cursor.read(name, of: log.path, calls: calls) else { return }
    let counts = position.counts
    let first = counts?.firstFrom ?? 0
    let end = counts.map { $0.rewinds > 0 ? $0.rewound : 0 } ?? 0
    if (first, end) != (start, rewound) {
      (start, rewound) = (first, end)
      changed.insert(0...Offset.max)
    }
    if position.offset < cursor {
      // A rewind, or another provider under this name.
      setBack(to: position.offset)
      changed.insert(position.offset...Offset.max)
    } else if position.offset > cursor {
      changed.insert(cursor...position.offset - 1)
      move(to: position.offset)
    }
  }

  /// The provider gets all events from here on again, whatever it answered before.
  private func setBack(to offset: Offset) {
    cursor = offset
    given.remove(from: offset)
    accepted.remove(from: offset)
    rejected.remove(from: offset)
    withheld.remove(from: offset)
  }

  private func move(to offset: Offset) {
    cursor = offset
    given.remove(below: offset)
    accepted.remove(below: offset)
  }

  // MARK: Attempts

  private func readAttempts(_ changed: inout OffsetSet) {
    read(AttemptLog.path(in: log.path, provider: name), &attempts) { stored in
      // A note that can't be read is from another version.
      guard let note = try? LoggedAttempt(stored) else { return }
      switch note {
      case .attempt(let call):
        take(call)
        for range in call.given.ranges { changed.insert(range) }
      // The cursor's own file says how far it is: a note may be from before a rewind.
      case .settled: break
      case .withheld(let offset):
        withheld.insert(offset...offset)
        changed.insert(offset...offset)
      case .flagged(let note):
        take(note)
        for range in note.at.ranges { changed.insert(range) }
      }
    }
  }

  private func take(_ call: LoggedAttempt.Call) {
    guard call.outcome == Attempt.Outcome.verdicts.rawValue else {
      for range in call.given.ranges { given.insert(range) }
      return
    }
    for range in call.given.ranges { accept(range) }
    for range in call.retried.ranges {
      accepted.remove(range)
      given.insert(range)
    }
    // Above the last range of an incomplete list, events may be retried: that is not known.
    if !call.retried.isComplete, let last = call.retried.ranges.last?.upperBound, last < call.last {
      for range in call.given.ranges where range.upperBound > last {
        let unknown = max(range.lowerBound, last + 1)...range.upperBound
        accepted.remove(unknown)
        given.insert(unknown)
      }
    }
    for range in call.rejected.ranges {
      accepted.remove(range)
      rejected.insert(range)
    }
  }

  /// An event may be accepted after it was rejected or withheld: it was delivered again by a rewind or after a kill.
  private func accept(_ range: ClosedRange<Offset>) {
    accepted.insert(range)
    rejected.remove(range)
    withheld.remove(range)
  }

  private func take(_ note: FlagNote) {
    let flag: DeliveryStates.Flags? =
      switch note.flag {
      case "violations": .violating
      case "defaulted": .defaulted
      case "duplicate_of": .duplicate
      default: nil
      }
    guard let flag, let index = flagged.firstIndex(where: { $0.flag == flag }) else { return }
    for range in note.at.ranges { flagged[index].offsets.insert(range) }
  }

  // MARK: Dead letters

  private func readLetters(_ calls: SystemCalls, _ changed: inout OffsetSet) {
    let path = DeadLetter.path(of: name, in: log.path)
    let isRead = read(path, &letters) { stored in
      guard stored.name == DeadLetter.eventName, case .uint(let offset)? = stored.fields["offset"] else { return }
      known.append((stored.offset, offset))
      rejected.insert(offset...offset)
      accepted.remove(offset...offset)
      changed.insert(offset...offset)
    }
    if known.count > Self.mostLetters { known.removeFirst(known.count - Self.mostLetters) }
    guard !known.isEmpty, case .position(let position)? = try? Cursor.read(name, of: path, calls: calls),
      isRead || position.offset != redriven
    else { return }
    redriven = position.offset
    takeRedriven(&changed)
  }

  /// Takes out the letters that a redrive had accepted.
  private func takeRedriven(_ changed: inout OffsetSet) {
    let redriven = AcceptedLetters(of: name, in: log.path)
    known.removeAll { letter, event in
      guard redriven.contains(letter) else { return false }
      rejected.remove(event...event)
      changed.insert(event...event)
      return true
    }
  }

  // MARK: Logs beside the log

  /// Passes each new event of a log beside the log to `body`. Returns whether there was one.
  @discardableResult
  private func read(_ path: String, _ notes: inout Notes, _ body: (StoredEvent) -> Void) -> Bool {
    notes.isBehind = false
    do throws(WeirError) {
      if notes.reader == nil { notes.reader = try EventReader(directory: path) }
      guard let reader = notes.reader else { return false }
      for count in 0..<Self.mostNotes {
        guard let stored = try reader.next() else { return count > 0 }
        body(stored)
      }
      notes.isBehind = true
      return true
    } catch {
      // The log is not there yet, or was removed with its provider, and another one may come in its place.
      notes.reader = nil
      return false
    }
  }
}

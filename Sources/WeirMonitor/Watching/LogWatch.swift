// LogWatch: what all who watch a log share: the states of delivery, the rates, and the sums.

import Synchronization
import Weir
import WeirContracts
import WeirDelivery

/// A log that is being watched. Nothing is read unless somebody asks, and what one asks for serves all for a while.
///
/// **Threads.** Any task may call any member.
final class LogWatch: Sendable {
  private struct State {
    var states: DeliveryStates
    var violating = Violations()
    var read: ContinuousClock.Instant?
    /// Counted up when states or flags may have changed.
    var version: UInt64 = 0
    /// The offsets that changed with the last versions, the latest version last.
    var changes: [OffsetSet] = []
    var watchers = 0
    /// The log's directory, held open; `nil` before the first look, and while there is none.
    var directory: Descriptor?
    /// The file `lock` in it; `nil` as long as there was none.
    var lock: Descriptor?
    /// Counted up when another log has taken the place of the one before.
    var generation = 0

    /// Reads what was noted since the last call. Returns whether something may have changed, or is left to be read.
    mutating func update(_ log: LogDirectory) throws(WeirError) -> Bool {
      var changed = try states.update()
      violating.update(log, &changed)
      guard !changed.ranges.isEmpty else { return states.isBehind }
      version += 1
      // Where very many stretches have changed, what lies between them counts as changed.
      if changed.ranges.count > LogWatch.mostRanges, let first = changed.ranges.first, let last = changed.ranges.last {
        changed.insert(first.lowerBound...last.upperBound)
      }
      changes.append(changed)
      if changes.count > LogWatch.mostChanges { changes.removeFirst() }
      return true
    }

    func findings(of offset: Offset, isNotice: Bool) -> EventFindings {
      let noted = states.flags(of: offset)
      var flags: Set<EventFlag> = isNotice ? [.gap] : []
      if violating.offsets.contains(offset) || noted.contains(.violating) { flags.insert(.violating) }
      if noted.contains(.defaulted) { flags.insert(.defaulted) }
      if noted.contains(.duplicate) { flags.insert(.duplicate) }
      let found = isNotice ? [] : Array(zip(states.providers, states.states(of: offset)))
      return EventFindings(flags: flags, states: found.map { (provider: $0.0, state: $0.1) })
    }

    func stretch(around offset: Offset) -> ClosedRange<Offset> {
      states.stretch(around: offset).clamped(to: violating.offsets.stretch(around: offset))
    }
  }

  /// Apart from the states, which every look at the log needs: sums may take long.
  private struct Counting {
    var rates: EventRates
    let threads: WriterThreads
    var sums: LogSums?
    var due: ContinuousClock.Instant?
  }

  /// The time between two looks at the notes of deliveries.
  private static let pause = Duration.milliseconds(50)
  /// The part of a core that sums may take.
  private static let share = 20
  /// The number of looks until all notes are read, at most: deliveries may go on meanwhile.
  private static let mostLooks = 100
  /// The number of versions whose changes are kept: those of some seconds.
  private static let mostChanges = 64
  /// The number of stretches that are looked at for one frame.
  private static let mostStretches = 2_000
  /// The number of ranges of one version's changes.
  private static let mostRanges = 1_000

  private static let lockName = "lock"

  let log: LogDirectory
  private let calls = SystemCalls()
  private let state: Mutex<State>
  private let counting: Mutex<Counting>

  /// Watches the log in this directory. Reads nothing yet.
  init(_ log: LogDirectory) {
    self.log = log
    state = Mutex(State(states: DeliveryStates(log)))
    counting = Mutex(Counting(rates: EventRates(log), threads: WriterThreads(log)))
  }

  /// What is known at a look.
  struct Known {
    /// Grows when states or flags may have changed.
    var version: UInt64
    /// Changes when another log has taken the place of the one before.
    var generation: Int
    var providers: [String]
  }

  /// Reads what deliveries noted since the last call, at most every 50 ms.
  func refresh() throws(WeirError) -> Known {
    let isReplaced = state.withLock { state -> Bool in checkPlace(&state) }
    if isReplaced { forgetCounts() }
    return try state.withLock { state throws(WeirError) in
      let now = ContinuousClock.now
      if state.read.map({ now >= $0 + Self.pause }) ?? true {
        state.read = now
        _ = try state.update(log)
      }
      return Known(version: state.version, generation: state.generation, providers: state.states.providers)
    }
  }

  /// Returns whether another log has taken the place of the one that was watched. Then nothing is known any more.
  private func checkPlace(_ state: inout State) -> Bool {
    let isSame = state.directory.map { calls.isAt(log.path, $0) }
    if isSame != true {
      state.directory = try? calls.openDirectory(log.path)
      state.lock = nil
    }
    guard isSame == false || isFilledAnew(&state) else { return false }
    forget(&state)
    state.generation += 1
    return true
  }

  /// Returns whether the directory has another log's files now: another file `lock`, which a log keeps for ever.
  private func isFilledAnew(_ state: inout State) -> Bool {
    guard let directory = state.directory else { return false }
    if let lock = state.lock, (try? calls.isNamed(lock, Self.lockName, in: directory)) ?? true { return false }
    guard let lock = try? calls.open(Self.lockName, in: directory, forWriting: false) else { return false }
    defer { state.lock = lock }
    return state.lock != nil
  }

  private func forget(_ state: inout State) {
    state.states = DeliveryStates(log)
    state.violating = Violations()
    state.changes = []
    state.read = nil
    state.version += 1
  }

  private func forgetCounts() {
    counting.withLock { counting in
      counting.rates = EventRates(log)
      counting.sums = nil
      counting.due = nil
    }
  }

  /// Reads all that deliveries have noted up to now.
  func refreshWhole() throws(WeirError) {
    try state.withLock { state throws(WeirError) in
      for _ in 0..<Self.mostLooks where try !state.update(log) { break }
    }
  }

  /// What is known about an event, as of the last ``refresh()``.
  func findings(of offset: Offset, isNotice: Bool) -> EventFindings {
    state.withLock { $0.findings(of: offset, isNotice: isNotice) }
  }

  func findings(of event: StoredEvent) -> EventFindings { findings(of: event.offset, isNotice: event.isNotice) }

  /// Returns the offsets whose states or flags may have changed after this version: all, if that is long ago.
  func changes(since version: UInt64) -> OffsetSet {
    state.withLock { state in
      let count = state.version - version
      var changed = OffsetSet()
      if count > state.changes.count { changed.insert(0...Offset.max) }
      for range in state.changes.suffix(Int(clamping: count)).flatMap(\.ranges) { changed.insert(range) }
      return changed
    }
  }

  /// Returns those of some offsets whose findings fit. Whole stretches are looked at, and no more than some thousands
  /// of them: what is below counts as fitting.
  func offsets(
    of changed: OffsetSet, below end: Offset, where fits: (EventFindings) -> Bool
  ) -> [ClosedRange<Offset>] {
    state.withLock { state in
      var found: [ClosedRange<Offset>] = []
      var looks = Self.mostStretches
      for range in changed.ranges.reversed() where range.lowerBound < end {
        var rest = range.clamped(to: 0...end - 1)
        while true {
          guard looks > 0 else {
            found.append(rest)
            break
          }
          looks -= 1
          let stretch = state.stretch(around: rest.upperBound).clamped(to: rest)
          let findings = state.findings(of: rest.upperBound, isNotice: false)
          if fits(findings) { found.append(stretch) }
          guard stretch.lowerBound > rest.lowerBound else { break }
          rest = rest.lowerBound...stretch.lowerBound - 1
        }
      }
      return found
    }
  }

  /// The sums, at most a second old, or older where they cost more than a twentieth of a core.
  func sums() throws(WeirError) -> LogSums {
    try counting.withLock { counting throws(WeirError) in
      let began = ContinuousClock.now
      if let sums = counting.sums, let due = counting.due, began < due { return sums }
      let sums = try LogSums(of: log, counting.rates, counting.threads, until: began + .milliseconds(50))
      counting.sums = sums
      counting.due = began + max(.seconds(1), (ContinuousClock.now - began) * Self.share)
      return sums
    }
  }

  /// Somebody begins to watch.
  func come() { state.withLock { $0.watchers += 1 } }

  /// Somebody watches no more. After the last one nothing is kept that would have to be followed.
  func go() {
    let isLast = state.withLock { state in
      state.watchers -= 1
      guard state.watchers == 0 else { return false }
      forget(&state)
      state.directory = nil
      return true
    }
    if isLast { forgetCounts() }
  }
}

/// The offsets of events that the program's inspector found to violate their contract, the last ones.
private struct Violations {
  private static let mostNotes = 100_000

  private var reader: EventReader?
  private(set) var offsets = OffsetSet()

  /// Reads what was noted since the last call, and adds the offsets that are new.
  mutating func update(_ log: LogDirectory, _ changed: inout OffsetSet) {
    do throws(WeirError) {
      if reader == nil { reader = try EventReader(directory: LoggedViolation.directory(in: log.path)) }
      for _ in 0..<Self.mostNotes {
        guard let stored = try reader?.next() else { return }
        guard let violation = try? LoggedViolation(stored) else { continue }
        offsets.insert(violation.offset...violation.offset)
        changed.insert(violation.offset...violation.offset)
      }
    } catch {
      // There is no inspector, or its log can't be read now.
      reader = nil
    }
  }
}

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
    /// Counted up when a state may have changed.
    var version: UInt64 = 0
    var watchers = 0
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

  let log: LogDirectory
  private let state: Mutex<State>
  private let counting: Mutex<Counting>

  /// Watches the log in this directory. Reads nothing yet.
  init(_ log: LogDirectory) {
    self.log = log
    state = Mutex(State(states: DeliveryStates(log)))
    counting = Mutex(Counting(rates: EventRates(log), threads: WriterThreads(log)))
  }

  /// Reads what deliveries noted since the last call, at most every 50 ms. Returns a number that grows when states may
  /// have changed, and the providers.
  func refresh() throws(WeirError) -> (version: UInt64, providers: [String]) {
    try state.withLock { state throws(WeirError) in
      let now = ContinuousClock.now
      if let read = state.read, now < read + Self.pause { return (state.version, state.states.providers) }
      state.read = now
      let isChanged = try state.states.update()
      let isViolated = state.violating.update(log)
      if isChanged || isViolated { state.version += 1 }
      return (state.version, state.states.providers)
    }
  }

  /// Reads all that deliveries have noted up to now.
  func refreshWhole() throws(WeirError) {
    try state.withLock { state throws(WeirError) in
      for _ in 0..<Self.mostLooks {
        let isChanged = try state.states.update()
        let isViolated = state.violating.update(log)
        if !isChanged, !isViolated { break }
        state.version += 1
      }
    }
  }

  /// What is known about an event, as of the last ``refresh()``.
  func findings(of event: StoredEvent) -> EventFindings {
    state.withLock { state in
      let providers = state.states.providers
      let states = event.isNotice ? [] : Array(zip(providers, state.states.states(of: event.offset)))
      return EventFindings(
        flags: Self.flags(
          of: event, state.states.flags(of: event.offset), isViolating: state.violating.has(event.offset)),
        states: states.map { (provider: $0.0, state: $0.1) })
    }
  }

  /// The states of an event, in the order of the providers.
  func states(of offset: Offset) -> [DeliveryStates.State] { state.withLock { $0.states.states(of: offset) } }

  private static func flags(
    of event: StoredEvent, _ noted: DeliveryStates.Flags, isViolating: Bool
  ) -> Set<EventFlag> {
    var flags: Set<EventFlag> = []
    if isViolating || noted.contains(.violating) { flags.insert(.violating) }
    if noted.contains(.defaulted) { flags.insert(.defaulted) }
    if noted.contains(.duplicate) { flags.insert(.duplicate) }
    if event.isNotice { flags.insert(.gap) }
    return flags
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
      state.states = DeliveryStates(log)
      state.violating = Violations()
      state.read = nil
      return true
    }
    guard isLast else { return }
    counting.withLock { counting in
      counting.rates = EventRates(log)
      counting.sums = nil
      counting.due = nil
    }
  }
}

/// The offsets of events that the program's inspector found to violate their contract, the last ones.
private struct Violations {
  private static let mostNotes = 100_000
  private static let most = 65_536

  private var reader: EventReader?
  private var offsets: Set<Offset> = []
  private var order: [Offset] = []

  func has(_ offset: Offset) -> Bool { offsets.contains(offset) }

  /// Reads what was noted since the last call. Returns whether there was something.
  mutating func update(_ log: LogDirectory) -> Bool {
    do throws(WeirError) {
      if reader == nil { reader = try EventReader(directory: LoggedViolation.directory(in: log.path)) }
      guard let opened = reader else { return false }
      for count in 0..<Self.mostNotes {
        guard let stored = try opened.next() else { return count > 0 }
        guard let violation = try? LoggedViolation(stored), offsets.insert(violation.offset).inserted else { continue }
        order.append(violation.offset)
        if order.count > 2 * Self.most {
          for offset in order.prefix(Self.most) { offsets.remove(offset) }
          order.removeFirst(Self.most)
        }
      }
      return true
    } catch {
      // There is no inspector, or its log can't be read now.
      reader = nil
      return false
    }
  }
}

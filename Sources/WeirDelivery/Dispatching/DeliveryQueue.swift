// DeliveryQueue: what is held for one provider, and what of it goes into the next call. A pure value.

import Weir

/// The events between the log and the provider: new ones, batches that are to be given again as they are, and events
/// that are to be given again by themselves.
struct DeliveryQueue: Sendable {
  /// What waits for its first call, in order of offset.
  enum Item: Sendable {
    case event(HeldEvent)
    case association(HeldAssociation)
  }

  /// What may be done now.
  enum Next: Sendable {
    /// A call with these events; so many of them are new ones.
    case batch([HeldEvent], new: Int)
    /// Everything before it is settled.
    case association(HeldAssociation)
    /// Nothing before this time; nil: before something new comes.
    case nothing(until: Duration?)
  }

  private let policy: FlushPolicy
  private var new: [Item] = []
  private var gone = 0
  /// Before anything else, the first one first.
  private(set) var batches: [[HeldEvent]] = []
  /// In order of offset.
  private(set) var retries: [HeldEvent] = []
  private var retryBytes = 0
  /// The last call was of such events: new ones are next, if there are any, so that neither waits for ever.
  private var wereRetries = false
  /// Who the user is, to be told before anything else, once.
  private var repeated: HeldAssociation?

  init(_ policy: FlushPolicy) {
    self.policy = policy
  }

  /// How many wait for their first call.
  var newCount: Int { new.count - gone }

  /// Nothing is held.
  var isEmpty: Bool { newCount == 0 && batches.isEmpty && retries.isEmpty }

  /// So many events are to be given again that no new ones are given for now, nor read: those of a call, or the bytes
  /// of one. A single event never holds up the others, however large it is.
  var isHeldUp: Bool {
    retries.count >= policy.maximumEvents || retries.count > 1 && retryBytes >= policy.maximumBytes
  }

  mutating func add(_ item: Item) {
    new.append(item)
  }

  /// Takes what is to be given now. Of the new ones `due` may go, of all at most `most` in one call.
  mutating func next(due: Int, most: Int, at now: Duration) -> Next {
    if due > 0 || !batches.isEmpty, let repeated {
      self.repeated = nil
      return .association(repeated)
    }
    if !batches.isEmpty { return .batch(takeBatch(most), new: 0) }
    if !wereRetries || !mayGiveNew(due) {
      let ready = takeRetries(most, at: now)
      wereRetries = !ready.isEmpty
      if !ready.isEmpty { return .batch(ready, new: 0) }
    }
    wereRetries = false
    let wake = retries.map(\.notBefore).min()
    guard due > 0, newCount > 0, !isHeldUp else { return .nothing(until: wake) }
    if case .association(let change) = new[gone] {
      guard retries.isEmpty else { return .nothing(until: wake) }
      removeNew(1)
      return .association(change)
    }
    var batch: [HeldEvent] = []
    for item in new[gone..<min(gone + min(due, most), new.count)] {
      guard case .event(let event) = item else { break }
      batch.append(event)
    }
    removeNew(batch.count)
    return .batch(batch, new: batch.count)
  }

  /// Whether new events may go now. A change of the user may not before all that lies before it is settled.
  private func mayGiveNew(_ due: Int) -> Bool {
    guard due > 0, newCount > 0, !isHeldUp else { return false }
    if case .event = new[gone] { return true }
    return false
  }

  /// A change of the user could not be told, and comes first again.
  mutating func putBack(_ change: HeldAssociation) {
    if change.isRepeated {
      repeated = change
    } else if gone > 0 {
      gone -= 1
      new[gone] = .association(change)
    } else {
      new.insert(.association(change), at: 0)
    }
  }

  /// These batches are given before anything else.
  mutating func putFirst(_ again: [[HeldEvent]]) {
    batches.insert(contentsOf: again.filter { !$0.isEmpty }, at: 0)
  }

  /// These events are given again by themselves, each at its time.
  mutating func retry(_ events: [HeldEvent]) {
    guard !events.isEmpty else { return }
    retries += events
    retryBytes += events.reduce(0) { $0 + $1.bytes }
    retries.sort { $0.offset < $1.offset }
  }

  private mutating func takeBatch(_ most: Int) -> [HeldEvent] {
    let first = batches.removeFirst()
    guard first.count > most else { return first }
    // A probe: the rest stays in its place.
    batches.insert(Array(first[most...]), at: 0)
    return Array(first[..<most])
  }

  private mutating func takeRetries(_ most: Int, at now: Duration) -> [HeldEvent] {
    guard retries.contains(where: { $0.notBefore <= now }) else { return [] }
    var batch: [HeldEvent] = []
    var rest: [HeldEvent] = []
    var bytes = 0
    for event in retries {
      let isRoom = batch.count < min(most, policy.maximumEvents) && bytes + event.bytes <= policy.maximumBytes
      if event.notBefore <= now, isRoom || batch.isEmpty {
        batch.append(event)
        bytes += event.bytes
      } else {
        rest.append(event)
      }
    }
    retries = rest
    retryBytes -= bytes
    return batch
  }

  private mutating func removeNew(_ count: Int) {
    gone += count
    if gone == new.count {
      new.removeAll(keepingCapacity: true)
      gone = 0
    } else if gone > 64, gone * 2 > new.count {
      new.removeFirst(gone)
      gone = 0
    }
  }
}

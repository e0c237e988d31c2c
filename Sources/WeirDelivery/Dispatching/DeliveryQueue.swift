// DeliveryQueue: the events held for one provider, and the choice of the events for the next call. A pure value.

import Weir

/// The events between the log and the provider: new events, batches that are delivered again unchanged, and events that
/// are retried individually.
struct DeliveryQueue: Sendable {
  /// The next thing to do.
  enum Next: Sendable {
    /// Make a call with these events; `new` of them are new events.
    case batch([HeldEvent], new: Int)
    /// Tell the provider of this change: everything before the change is settled.
    case association(HeldAssociation)
    /// Do nothing before this time; `nil` means before new events come.
    case nothing(until: Duration?)
  }

  private let policy: FlushPolicy
  /// The events that wait for their first call, in order of offset; the first ``gone`` of them have left.
  private var new: [HeldEvent] = []
  private var gone = 0
  /// The changes of the user among these events, in order of offset.
  private var changes: [HeldAssociation] = []
  /// Delivered before anything else, in this order.
  private(set) var batches: [[HeldEvent]] = []
  /// In order of offset.
  private(set) var retries: [HeldEvent] = []
  private var retryBytes = 0
  /// Whether the last call was for retried events. Then new events are next, if there are any, so that neither kind
  /// waits for ever.
  private var wereRetries = false
  /// The current user, told once before anything else.
  private(set) var repeated: HeldAssociation?

  init(_ policy: FlushPolicy) {
    self.policy = policy
  }

  /// The number of items that wait for their first call.
  var newCount: Int { new.count - gone + changes.count }

  /// Whether nothing is held.
  var isEmpty: Bool { newCount == 0 && batches.isEmpty && retries.isEmpty }

  /// Whether so many events are retried that no new events are read or delivered for now: as many events as a call
  /// takes, or as many bytes. A single event never delays the others, however large it is.
  var isHeldUp: Bool {
    retries.count >= policy.maximumEvents || retries.count > 1 && retryBytes >= policy.maximumBytes
  }

  mutating func add(_ event: HeldEvent) {
    new.append(event)
  }

  mutating func add(_ change: HeldAssociation) {
    changes.append(change)
  }

  /// Adds the events that `append` appends.
  mutating func add(_ append: (inout [HeldEvent]) -> Void) {
    append(&new)
  }

  /// Changes the event at this offset if the event still waits for its first call. Returns what `change` returns, and
  /// `false` if there is no such event.
  mutating func changeNew(at offset: Offset, _ change: (inout HeldEvent) -> Bool) -> Bool {
    let index = new[gone...].partitioningIndex { $0.offset >= offset }
    guard index < new.count, new[index].offset == offset else { return false }
    return change(&new[index])
  }

  /// Takes the next thing to do. At most `due` new events may go, and at most `most` events in one call.
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
    if isChangeNext {
      guard retries.isEmpty else { return .nothing(until: wake) }
      return .association(changes.removeFirst())
    }
    var end = min(gone + min(due, most), new.count)
    if let change = changes.first, end > gone, new[end - 1].offset > change.offset {
      end = new[gone..<end].firstIndex { $0.offset > change.offset } ?? end
    }
    let batch = takeNew(upTo: end)
    return .batch(batch, new: batch.count)
  }

  /// Whether a change of the user comes before the next new event.
  private var isChangeNext: Bool {
    guard let change = changes.first else { return false }
    return gone == new.count || change.offset < new[gone].offset
  }

  /// Whether new events may go now. A change of the user must wait until everything before the change is settled.
  private func mayGiveNew(_ due: Int) -> Bool {
    guard due > 0, newCount > 0, !isHeldUp else { return false }
    return !isChangeNext
  }

  /// Puts back a change of the user that could not be told, at the front.
  mutating func putBack(_ change: HeldAssociation) {
    if change.isRepeated {
      repeated = change
    } else {
      changes.insert(change, at: 0)
    }
  }

  /// Puts these batches before anything else.
  mutating func putFirst(_ again: [[HeldEvent]]) {
    batches.insert(contentsOf: again.filter { !$0.isEmpty }, at: 0)
  }

  /// Adds events that are retried individually, each at its time.
  mutating func retry(_ events: [HeldEvent]) {
    guard !events.isEmpty else { return }
    retries += events
    retryBytes += events.byteCount
    retries.sort { $0.offset < $1.offset }
  }

  private mutating func takeBatch(_ most: Int) -> [HeldEvent] {
    let first = batches.removeFirst()
    guard first.count > most else { return first }
    // A probe takes only the beginning; the rest keeps its place.
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

  /// Removes the new events up to this place, and returns them. All that wait leave without a copy of each.
  private mutating func takeNew(upTo end: Int) -> [HeldEvent] {
    if gone == 0, end == new.count {
      let batch = new
      new = []
      new.reserveCapacity(batch.count)
      return batch
    }
    let batch = Array(new[gone..<end])
    gone = end
    if gone == new.count {
      new.removeAll(keepingCapacity: true)
      gone = 0
    } else if gone > 64, gone * 2 > new.count {
      new.removeFirst(gone)
      gone = 0
    }
    return batch
  }
}

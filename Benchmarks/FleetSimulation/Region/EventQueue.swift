// EventQueue: what happens next, by a clock that stands still between events.

/// Events in the order of their times, and events of one time in the order in which they were added.
struct EventQueue<Event> {
  private struct Entry {
    var time: Double
    var order: UInt64
    var event: Event

    func isBefore(_ other: Entry) -> Bool { (time, order) < (other.time, other.order) }
  }

  /// A binary heap: each entry comes before the two below it.
  private var heap: [Entry] = []
  private var added: UInt64 = 0
  /// The virtual time, in seconds.
  private(set) var now = 0.0

  mutating func add(_ event: Event, at time: Double) {
    added += 1
    heap.append(Entry(time: max(time, now), order: added, event: event))
    var place = heap.count - 1
    while place > 0, heap[place].isBefore(heap[(place - 1) / 2]) {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Removes the next event up to a time, and sets the clock to the event's time.
  mutating func next(until end: Double) -> Event? {
    guard let first = heap.first, first.time <= end else { return nil }
    now = first.time
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2] where child < heap.count && heap[child].isBefore(heap[least]) {
        least = child
      }
      guard least != place else { return first.event }
      heap.swapAt(place, least)
      place = least
    }
  }
}

// Mailbox: passes chunks of lines from the reading thread to one recording thread. A mailbox holds a few chunks
// at most, so that a long input is never completely in memory.

#if Tool
  import Dispatch
  import Synchronization

  final class Mailbox<Item: Sendable>: Sendable {
    private let items = Mutex<[Item]>([])
    private let free: DispatchSemaphore
    private let filled = DispatchSemaphore(value: 0)

    init(capacity: Int) { free = DispatchSemaphore(value: capacity) }

    /// Waits while the mailbox is full.
    func put(_ item: Item) {
      free.wait()
      items.withLock { $0.append(item) }
      filled.signal()
    }

    /// Waits while the mailbox is empty.
    func take() -> Item {
      filled.wait()
      defer { free.signal() }
      return items.withLock { $0.removeFirst() }
    }
  }
#endif

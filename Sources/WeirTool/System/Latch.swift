// Latch.swift: something that happens once and is asked for by others.

#if Tool
  import Synchronization

  final class Latch: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
  }
#endif

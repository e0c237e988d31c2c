// Scratch: the buffer that each thread keeps for its Codable events.

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Gives each thread a ``TaggedWriter`` of its own, so that capturing a Codable event allocates no buffer. If encoding
/// code captures another event while the writer is in use, that event gets a writer of its own.
enum Scratch {
  /// The system's key to a value of each thread, with a destructor that runs when the thread ends. `nil` if the system
  /// has no keys left; each event then makes its own writer.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key) { kept in
      if let kept { Unmanaged<WriterMemory>.fromOpaque(kept).release() }
    }
    return status == 0 ? key : nil
  }()

  /// Returns the memory of a writer for one event. The caller must give it back.
  static func take() -> Unmanaged<WriterMemory> {
    guard let key else { return .passRetained(WriterMemory()) }
    guard let kept = pthread_getspecific(key) else { return make(key) }
    let memory = Unmanaged<WriterMemory>.fromOpaque(kept)
    let isFree = memory._withUnsafeGuaranteedRef { memory in
      guard !memory.writer.state.pointee.isInUse else { return false }
      memory.writer.state.pointee.isInUse = true
      return true
    }
    return isFree ? memory : .passRetained(WriterMemory())
  }

  /// Ends the event. The thread keeps its own writer.
  static func give(_ memory: Unmanaged<WriterMemory>) {
    let isThreads = memory._withUnsafeGuaranteedRef { memory in
      memory.writer.end()
      guard memory.writer.state.pointee.isInUse else { return false }
      memory.writer.state.pointee.isInUse = false
      return true
    }
    if !isThreads { memory.release() }
  }

  /// Makes a writer, which the thread keeps if the system allows it.
  private static func make(_ key: pthread_key_t) -> Unmanaged<WriterMemory> {
    let memory = WriterMemory()
    let kept = Unmanaged.passRetained(memory)
    memory.writer.state.pointee.isInUse = pthread_setspecific(key, kept.toOpaque()) == 0
    return kept
  }
}

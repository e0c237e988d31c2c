// Scratch: the buffer that a thread keeps for its Codable events.

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Gives each thread its own ``TaggedWriter``, so that capturing a Codable event allocates nothing of its own in steady
/// state. While it is in use, encoding code that captures another event gets one for that event alone.
enum Scratch {
  /// The system's key to a value of each thread, with a destructor for when the thread ends. Nil if the system has none
  /// left; every event then makes a writer for itself.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key) { kept in
      if let kept { Unmanaged<WriterMemory>.fromOpaque(kept).release() }
    }
    return status == 0 ? key : nil
  }()

  /// The memory of a writer for one event, to be given back.
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

  /// A writer that the thread keeps, if the system lets it.
  private static func make(_ key: pthread_key_t) -> Unmanaged<WriterMemory> {
    let memory = WriterMemory()
    let kept = Unmanaged.passRetained(memory)
    memory.writer.state.pointee.isInUse = pthread_setspecific(key, kept.toOpaque()) == 0
    return kept
  }
}

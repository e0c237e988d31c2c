// Scratch: the buffer that a thread keeps for its Codable events.

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Gives each thread its own ``TaggedWriter``, so that capturing a Codable event allocates nothing of its own in steady
/// state. A writer is taken out while it is used: encoding code that captures another event gets a second one.
enum Scratch {
  /// The system's key to a value of each thread, with a destructor for when the thread ends. Nil if the system has none
  /// left; every event then makes a writer for itself.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key) { writer in
      if let writer { Unmanaged<TaggedWriter>.fromOpaque(writer).release() }
    }
    return status == 0 ? key : nil
  }()

  static func take() -> TaggedWriter {
    guard let key, let kept = pthread_getspecific(key) else { return TaggedWriter() }
    pthread_setspecific(key, nil)
    return Unmanaged<TaggedWriter>.fromOpaque(kept).takeRetainedValue()
  }

  /// Takes the writer back, unless the code that used it still holds on to it: what that writes later must not end up
  /// in another event. A thread keeps one.
  static func give(_ writer: inout TaggedWriter) {
    guard let key, isKnownUniquelyReferenced(&writer), pthread_getspecific(key) == nil else { return }
    let kept = Unmanaged.passRetained(writer)
    if pthread_setspecific(key, kept.toOpaque()) != 0 { kept.release() }
  }
}

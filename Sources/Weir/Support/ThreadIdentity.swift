// ThreadIdentity: tells whether code runs on a thread that was noted before.

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A thread of this process, to compare with the calling one. After the thread has ended, another thread may have the
/// same identity.
package struct ThreadIdentity: Equatable, Sendable {
  /// The thread that pthread_self names, as a number: with musl a thread is a pointer, and no pointer is Sendable.
  private let bits: UInt

  package static var current: Self {
    Self(bits: withUnsafeBytes(of: pthread_self()) { $0.load(as: UInt.self) })
  }
}

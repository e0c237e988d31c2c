// BlockedThread: starts the library's threads that run Swift code. The core starts its own threads.

import CClocks

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Starts a thread that runs `body` and ends with it. The thread blocks every signal, so the host's signal handlers
/// never run on it. `top -H` and debuggers show the first 15 bytes of the thread's name.
///
/// Throws `memory` if the system can't start another thread.
package func startThread(_ name: String, _ body: sending @escaping () -> Void) throws(WeirError) {
  var every = sigset_t()
  var before = sigset_t()
  sigfillset(&every)
  // A new thread inherits the signal mask of the thread that creates it.
  pthread_sigmask(SIG_SETMASK, &every, &before)
  defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
  let call = Unmanaged.passRetained(ThreadBody(name, body))
  #if canImport(Glibc)
    var thread = pthread_t()
  #else
    var thread: pthread_t?
  #endif
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  defer { pthread_attr_destroy(&attributes) }
  raiseStack(&attributes)
  let error = pthread_create(
    &thread, &attributes,
    { context in
      if let context { Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run() }
      return nil
    }, call.toOpaque())
  guard error == 0 else {
    call.release()
    throw WeirError(.memory, "starting the thread \(name) failed; raise the limit on threads", systemError: error)
  }
  pthread_detach(thread)
}

/// Runs work that waits for the disk on a thread of its own, because tasks share their threads.
package func onDiskThread<Answer: Sendable>(
  _ body: @escaping @Sendable () throws(WeirError) -> Answer
) async throws(WeirError) -> Answer {
  let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Answer, WeirError>, Never>) in
    @Sendable func run() -> Result<Answer, WeirError> {
      do throws(WeirError) { return .success(try body()) } catch { return .failure(error) }
    }
    do throws(WeirError) {
      try startThread("weir-segment") { continuation.resume(returning: run()) }
    } catch {
      continuation.resume(returning: .failure(error))
    }
  }
  return try result.get()
}

/// The processor time that the calling thread has used. Costs a system call.
package func threadProcessorTime() -> Duration { .nanoseconds(weir_clock_read(CLOCK_THREAD_CPUTIME_ID)) }

/// Gives the calling thread a nice value. On Linux, the nice value belongs to the thread.
package func lowerThreadPriority(to niceness: Int) {
  // 0 is PRIO_PROCESS, whose type differs between C libraries.
  _ = setpriority(0, 0, Int32(niceness))
}

/// Raises the stack to what the core gives its own threads. musl's default of 128 KiB is too little for a host's code.
private func raiseStack(_ attributes: inout pthread_attr_t) {
  let least = 1 << 20
  var bytes = 0
  if pthread_attr_getstacksize(&attributes, &bytes) != 0 || bytes < least {
    pthread_attr_setstacksize(&attributes, least)
  }
}

private final class ThreadBody {
  private let name: String
  private let body: () -> Void

  init(_ name: String, _ body: @escaping () -> Void) {
    self.name = name
    self.body = body
  }

  func run() {
    takeName()
    body()
  }

  /// Sets the thread's name by writing the file that holds it, because Swift can't call the C library's function.
  /// Without /proc, no tool shows thread names either.
  private func takeName() {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    _ = name.withCString { write(file, $0, strlen($0)) }
    close(file)
  }
}

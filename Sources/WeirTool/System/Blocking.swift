// Blocking: runs asynchronous work from a command, which is synchronous.

#if Tool
  import Foundation
  import Synchronization

  /// Runs asynchronous work and waits for its end. For the main thread only, on which no task runs: a task that waited
  /// this way would block a thread that the awaited tasks need.
  func waitForEnd<Answer: Sendable>(of work: @escaping @Sendable () async throws -> Answer) throws -> Answer {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Result<Answer, any Error>?>(nil)
    Task {
      let ended: Result<Answer, any Error>
      do { ended = .success(try await work()) } catch { ended = .failure(error) }
      result.withLock { $0 = ended }
      done.signal()
    }
    done.wait()
    guard let ended = result.withLock({ $0 }) else { fatalError("the work ended and left nothing") }
    return try ended.get()
  }
#endif

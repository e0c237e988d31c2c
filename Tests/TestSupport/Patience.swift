// Patience: waiting for what happens on threads of others, without a thread of those that all tests share.

import Foundation
import Testing

/// How long a test waits, by the machine's clock, for something that does not happen. Not for what does, however loaded
/// the machine is: other tests may have all of it for a minute.
package let patience = Duration.seconds(300)

/// Waits until `condition` holds; false if it does not. The thread is free for other tests meanwhile.
package func eventually(_ condition: () -> Bool) async -> Bool {
  let deadline = ContinuousClock.now + patience
  while !condition() {
    if ContinuousClock.now > deadline { return false }
    try? await Task.sleep(for: .milliseconds(2))
  }
  return true
}

/// Whether `body` answers true in a child of a fork.
///
/// A child of a process with many threads may stand still for reasons of the run-time library's own: then there is
/// another.
package func isTrueInChild(_ body: () -> Bool) async throws -> Bool {
  typealias Fork = @convention(c) () -> pid_t
  let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
  for _ in 0..<5 {
    let child = fork()
    if child == 0 { _exit(body() ? 0 : 1) }
    try #require(child > 0)
    var status: Int32 = -1
    let deadline = ContinuousClock.now + patience / 5
    while ContinuousClock.now < deadline {
      if waitpid(child, &status, WNOHANG) == child { return status == 0 }
      try await Task.sleep(for: .milliseconds(2))
    }
    kill(child, SIGKILL)
    _ = await eventually { waitpid(child, nil, WNOHANG) != 0 }
  }
  return false
}

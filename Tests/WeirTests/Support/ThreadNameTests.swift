// The names of the threads that Swift starts, as `top -H` shows them.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir

struct ThreadNameTests {
  @Test(arguments: [("weir-name", "weir-name"), ("weir-a-longer-name", "weir-a-longer-n")])
  func `a thread has its name before its body runs`(name: String, shown: String) throws {
    let found = Mutex("")
    let isDone = DispatchSemaphore(value: 0)
    try startThread(name) {
      let text = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
      found.withLock { $0 = text ?? "" }
      isDone.signal()
    }
    isDone.wait()
    #expect(found.withLock { $0 } == shown + "\n")
  }
}

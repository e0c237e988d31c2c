// Alarms: what an example's observer was told, from another thread.

import Synchronization

final class Alarms: Sendable {
  private let texts = Mutex<[String]>([])

  func raise(_ text: String) { texts.withLock { $0.append(text) } }

  var raised: [String] { texts.withLock { $0 } }
}

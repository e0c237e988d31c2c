// LoggedLines: what a log handler was given, for tests of what is said aloud.

import Logging
import Synchronization

/// Keeps what is logged.
final class LoggedLines: LogHandler, Sendable {
  let lines = Mutex<[(level: Logger.Level, text: String)]>([])

  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .trace }
    set {}
  }
  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  func log(event: LogEvent) {
    lines.withLock { $0.append((event.level, "\(event.message)")) }
  }

  var logger: Logger { Logger(label: "test") { _ in self } }
  var levels: [Logger.Level] { lines.withLock { $0.map(\.level) } }
  var last: String { lines.withLock { $0.last?.text ?? "" } }
}

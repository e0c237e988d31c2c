// LoggedLines: what a log handler was given, for tests of what is said aloud.

package import Logging
package import Synchronization

/// Keeps what is logged.
package final class LoggedLines: LogHandler, Sendable {
  package let lines = Mutex<[(level: Logger.Level, text: String)]>([])

  package init() {}

  package var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  package var logLevel: Logger.Level {
    get { .trace }
    set {}
  }
  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  package func log(event: LogEvent) {
    lines.withLock { $0.append((event.level, "\(event.message)")) }
  }

  package var logger: Logger { Logger(label: "test") { _ in self } }
  package var levels: [Logger.Level] { lines.withLock { $0.map(\.level) } }
  package var last: String { lines.withLock { $0.last?.text ?? "" } }
}

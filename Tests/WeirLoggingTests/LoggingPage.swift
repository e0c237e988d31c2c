// page: Sources/Weir/Weir.docc/Modules/WeirLogging.md

import Foundation
import Logging
import TestSupport
import Testing
import Weir
import WeirLogging

private enum Secrecy: Int64, Logger.MetadataValueAttributes.Attribute { case secret = 1 }

struct LoggingPage {
  /// Where parent and child meet, for the child's code can't be given anything.
  private static func directory(of process: pid_t) -> String {
    FileManager.default.temporaryDirectory.appending(path: "weir-logging-page-\(process)").path
  }

  @Test func `a program bootstraps swift-log, and reads its lines`() async throws {
    let directory = Self.directory(of: getpid())
    defer { try? FileManager.default.removeItem(atPath: directory) }
    // A process bootstraps swift-log only once.
    await #expect(processExitsWith: .success) {
      let directory = Self.directory(of: getppid())
      let mail = "a@b.example"
      // snippet
      let tracker = try Tracker(directory: directory)
      LoggingSystem.bootstrap { WeirLogHandler(label: $0, tracker: tracker) }

      let logger = Logger(label: "shop.payments")
      logger.info("paid", metadata: ["order": "4711", "items": .stringConvertible(3)])
      logger.error("declined", metadata: ["order": "4712", "mail": "\(mail, sensitivity: .sensitive)"])
      // end

      // snippet
      for event in try tracker.events() where event.name == "log.line" && event.fields["level"] == "error" {
        print(event.time, event.fields["message"] ?? "", event.redacted().fields["order"] ?? "")
      }
      // end
    }
    let events = try EventReader(directory: directory).all()
    #expect(events.map { $0.fields["message"] } == ["paid", "declined"])
    #expect(events.map { $0.fields["order"] } == ["4711", "4712"])
    #expect(events.last?.redacted().fields["mail"] == .redacted)
  }

  @Test func `lines also go to standard output`() throws {
    let events = try lines { tracker in
      // snippet
      let logger = Logger(label: "shop.payments") { label in
        var captured = WeirLogHandler(label: label, tracker: tracker)
        captured.logLevel = .debug
        return MultiplexLogHandler([captured, StreamLogHandler.standardOutput(label: label)])
      }
      // end
      logger.debug("captured alone")
    }
    #expect(events.map { $0.fields["message"] } == ["captured alone"])
  }

  @Test func `attributes of the program say what is sensitive`() throws {
    let events = try lines { tracker in
      // snippet
      let logger = Logger(label: "shop.payments") { label in
        WeirLogHandler(label: label, tracker: tracker, isSensitive: { $0[Secrecy.self] == .secret })
      }
      // end
      logger.info("text", metadata: ["key": .attributed("value", attributes: [Secrecy.secret])])
    }
    #expect(events.first?.redacted().fields["key"] == .redacted)
  }
}

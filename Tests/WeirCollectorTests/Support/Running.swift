// Running: a collector in a directory that vanishes, for the time of a test.

#if Collector
  import Foundation
  import Testing
  import Weir

  @testable import WeirCollector

  /// A directory that vanishes with its owner.
  final class Scratch: Sendable {
    let path: String

    init() throws {
      path = FileManager.default.temporaryDirectory.path + "/weir-collector-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  /// A port that only who names it can listen on, and which refuses connections until then.
  final class HeldPort: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var reuses: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuses, socklen_t(MemoryLayout<Int32>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = in_addr_t(UInt32(0x7F00_0001).bigEndian)
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let descriptor = descriptor
      let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
        }
      }
      port = Int(UInt16(bigEndian: address.sin_port))
      guard isBound else { throw POSIXError(.EADDRINUSE) }
    }

    deinit { close(descriptor) }
  }

  /// A collector's configuration with a small log: many tests run at a time.
  func smallConfiguration(_ scratch: Scratch) -> Collector.Configuration {
    var configuration = Collector.Configuration(directory: scratch.path + "/log")
    configuration.laneCount = 8
    configuration.laneBytes = 256 << 10
    configuration.segmentBytes = 1 << 20
    configuration.maximumEventBytes = 64 << 10
    return configuration
  }

  /// Runs a collector, and `body` with it and a client for it.
  func withCollector(
    _ change: (inout Collector.Configuration) throws -> Void = { _ in },
    _ body: (Collector, RawClient) async throws -> Void
  ) async throws {
    let scratch = try Scratch()
    var configuration = smallConfiguration(scratch)
    try change(&configuration)
    let collector = try Collector(configuration)
    let port = try await collector.start()
    do {
      try await body(collector, RawClient(port: port))
    } catch {
      try? await collector.stop()
      throw error
    }
    try await collector.stop()
    withExtendedLifetime(scratch) {}
  }

  /// Waits until something is so. The limit is against hanging: a loaded machine needs a small part of it.
  func eventually(_ condition: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(900)
    while !condition() {
      guard ContinuousClock.now < end else {
        Issue.record("it never came")
        return
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// An event as Segment has it.
  func segmentEvent(_ id: String, _ name: String = "order placed", properties: String = "{\"n\":1}") -> String {
    """
    {"type":"track","event":"\(name)","userId":"ada","messageId":"\(id)",\
    "timestamp":"2026-11-21T00:00:00.5Z","properties":\(properties)}
    """
  }

  func segmentBatch(_ events: [String]) -> String { "{\"batch\":[\(events.joined(separator: ","))]}" }
#endif

// KilledCollectorTests: the tool's collector killed with SIGKILL again and again while clients send: what it answered
// as taken is in its log. WEIR_KILLS sets how often (6), WEIR_SEED repeats a run.

#if Collector
  import Foundation
  import Glibc
  import Synchronization
  import Testing
  import Weir

  @testable import WeirCollector

  struct KilledCollectorTests {
    /// A running `weir collect`, and the port that it said.
    private final class Tool {
      let process = Process()
      let port: Int
      private let output = Pipe()

      init(_ arguments: [String]) throws {
        process.executableURL = try Self.executable()
        process.arguments = ["collect"] + arguments
        process.standardOutput = output
        process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        try process.run()
        var line = ""
        while !line.hasSuffix("\n"), let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
          line += String(decoding: byte, as: UTF8.self)
        }
        port = Int(line.split(separator: ":").last?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "") ?? 0
      }

      deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
      }

      /// The tool beside the test bundle, or WEIR_TOOL.
      private static func executable() throws -> URL {
        if let given = ProcessInfo.processInfo.environment["WEIR_TOOL"] { return URL(fileURLWithPath: given) }
        let running = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { [$0] } ?? []
        for candidate in running + CommandLine.arguments + [Bundle.main.bundlePath] {
          var folder = URL(fileURLWithPath: candidate)
          for _ in 0..<3 {
            folder.deleteLastPathComponent()
            let tool = folder.appendingPathComponent("weir")
            var isFolder: ObjCBool = false
            if FileManager.default.fileExists(atPath: tool.path, isDirectory: &isFolder), !isFolder.boolValue {
              return tool
            }
          }
        }
        throw POSIXError(.ENOENT)
      }

      func end(_ signal: Int32) -> Int32 {
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        return process.terminationStatus
      }
    }

    /// Ids that were sent, and those of them that were answered as taken.
    private final class IDs: Sendable {
      private let state = Mutex((next: 0, acknowledged: Set<String>(), isOver: false))

      var acknowledged: Set<String> { state.withLock { $0.acknowledged } }

      func next(_ count: Int) -> [String] {
        state.withLock { state in
          defer { state.next += count }
          return (state.next..<state.next + count).map { "k\($0)" }
        }
      }

      /// Notes what was answered as taken; not after the end, when the port may be another's.
      func acknowledge(_ ids: [String]) {
        state.withLock { state in
          if !state.isOver { state.acknowledged.formUnion(ids) }
        }
      }

      /// Whether senders are to end.
      var isOver: Bool {
        get { state.withLock { $0.isOver } }
        set { state.withLock { $0.isOver = newValue } }
      }
    }

    private static let environment = ProcessInfo.processInfo.environment
    private static let kills = environment["WEIR_KILLS"].flatMap { Int($0) } ?? 6
    private static let seed = environment["WEIR_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max >> 1)

    @Test(arguments: ["process-crash", "power-loss"])
    func `an event that was acknowledged is in the log after a kill`(durability: String) async throws {
      let scratch = try Scratch()
      let directory = scratch.path + "/log"
      var chance = Chance(seed: Self.seed)
      let ids = IDs()
      for _ in 0..<Self.kills {
        let faults = "drop-answer:0.1,cut:0.1,status=500:0.1,partial:0.1"
        let tool = try Tool([
          directory, "--durability", durability, "--fail", faults, "--seed", "\(chance.next() >> 1)",
        ])
        let client = RawClient(port: tool.port)
        try #require(tool.port > 0)
        let senders = (0..<3).map { _ in
          Task {
            while !ids.isOver {
              let batch = ids.next(20)
              let answer = try await client.post("/v1/batch", segmentBatch(batch.map { segmentEvent($0) }))
              if answer.status == 200, answer.isWhole { ids.acknowledge(batch) }
            }
          }
        }
        let before = ids.acknowledged.count
        try await eventually { ids.acknowledged.count > before }
        try await Task.sleep(for: .milliseconds(Int64(chance.next() % 100)))
        #expect(tool.end(SIGKILL) == SIGKILL)
        ids.isOver = true
        for sender in senders { _ = await sender.result }
        ids.isOver = false
      }
      var found: Set<String> = []
      let reader = try EventReader(directory: directory)
      while let stored = try reader.next() {
        if let id = CollectedEvent(stored)?.id { found.insert(id) }
      }
      let sent = ids.acknowledged
      #expect(!sent.isEmpty)
      #expect(sent.subtracting(found).isEmpty, "seed \(Self.seed): lost")
      #expect(reader.skippedCount == 0)

      let tool = try Tool([directory])
      #expect(try await RawClient(port: tool.port).get("/_weir/stats").json["ids"] as? Int == found.count)
      #expect(tool.end(SIGTERM) == 143)
      #expect(try !LogDirectory(directory).statistics().isLive)
    }
  }
#endif

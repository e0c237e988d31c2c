// The providers that come with Weir keep to the protocol: files, and a closure.

import Foundation
import Synchronization
import Testing
import Weir
import WeirDelivery
import WeirTesting

@Suite struct FileProviderTests {
  /// A directory that goes with its owner.
  private final class Scratch: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "weir-files-\(UUID().uuidString)").path

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  /// The events in the finished files and in what counts of the open one, in the order in which they were delivered.
  private static func delivered(in directory: Scratch) throws -> [ProviderConformance.Entry] {
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.contains(".jsonl") }
    return try names.sorted().flatMap { name -> [ProviderConformance.Entry] in
      var data = try Data(contentsOf: URL(filePath: "\(directory.path)/\(name)"))
      if let bytes = name.split(separator: "-").last.flatMap({ Int($0) }), name.contains(".open-") {
        data = data.prefix(bytes)
      }
      #expect(data.last == UInt8(ascii: "\n"))
      return try data.split(separator: UInt8(ascii: "\n")).map { line -> ProviderConformance.Entry in
        // Before anything else in the line: whatever else is in it, other tests look at.
        let text = String(decoding: line.dropFirst(#"{"id":""#.utf8.count).prefix(32), as: UTF8.self)
        let id = try #require(EventID(text))
        #expect(line.last == UInt8(ascii: "}"))
        return .event(id)
      }
    }
  }

  @Test func `files keep to the protocol`() async throws {
    let directory = Scratch()
    var options = JSONLinesProvider.Options()
    options.logger = nil
    options.fileBytes = 100_000
    try await ProviderConformance.check(
      makeProvider: { [options] in JSONLinesProvider(directory.path, options: options) },
      delivered: { _ in try Self.delivered(in: directory) })
  }

  @Test func `compressed files keep to the protocol`() async throws {
    let directory = Scratch()
    var options = JSONLinesProvider.Options()
    options.logger = nil
    options.isCompressed = true
    try await ProviderConformance.check(
      makeProvider: { [options] in JSONLinesProvider(directory.path, name: "lz4", options: options) })
  }

  @Test func `a closure keeps to the protocol`() async throws {
    let kept = Shared<(entries: [ProviderConformance.Entry], ids: Set<EventID>)>(([], []))
    try await ProviderConformance.check(
      unacceptable: ("bad", [:]),
      makeProvider: {
        ClosureProvider(
          "closure",
          userChanged: { user in
            kept.withLock { $0.entries.append(user.map { .associated($0.id) } ?? .disassociated) }
          },
          deliver: { events in
            events.map { event in
              guard event.name != "bad" else { return .rejected("it is bad") }
              kept.withLock { kept in
                guard kept.ids.insert(event.stored.id).inserted else { return }
                kept.entries.append(.event(event.stored.id, fields: event.fields))
              }
              return .accepted
            }
          })
      },
      delivered: { _ in kept.withLock { $0.entries } })
  }

  @Test func `a closure is told of its beginning and its end`() async throws {
    let calls = Shared<[String]>([])
    let provider = ClosureProvider(
      "told", setup: { calls.withLock { $0.append("setup") } },
      userChanged: { user in calls.withLock { $0.append(user?.id ?? "nobody") } },
      shutdown: { calls.withLock { $0.append("shutdown") } },
      deliver: { events in
        calls.withLock { $0.append("\(events.count) events") }
        throw BatchRefused("as you like")
      })
    #expect(provider.name == "told")
    try await provider.setup()
    try await provider.associate(EventUser(id: "u7"))
    try await provider.disassociate()
    await #expect(throws: BatchRefused("as you like")) { try await provider.deliver([]) }
    await provider.shutdown()
    #expect(calls.withLock { $0 } == ["setup", "u7", "nobody", "0 events", "shutdown"])
  }

  // A clock that nobody waits by would be waited for without end.
  @Test(.timeLimit(.minutes(15)))
  func `a file is finished when it is old enough`() async throws {
    let directory = Scratch()
    let clock = VirtualClock()
    var options = JSONLinesProvider.Options()
    options.logger = nil
    options.fileAge = .seconds(60)
    let provider = JSONLinesProvider(directory.path, options: options, clock: clock)
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.contains(".jsonl") }.sorted()
    }
    let events = (0..<4).map { number in
      PreparedEvent(
        StoredEvent(
          offset: Offset(number), id: EventID(opening: 1, sequence: UInt64(number) + 1),
          time: Timestamp(nanosecondsSince1970: 0), name: "sample", fields: [:]))
    }
    for round in 0..<2 {
      _ = try await provider.deliver([events[round * 2]])
      await clock.sleepers(atLeast: 1)
      clock.advance(by: .seconds(59))
      // A delivery does not make it younger.
      _ = try await provider.deliver([events[round * 2 + 1]])
      let last = try #require(try names().last)
      #expect(last.contains(".open-"))
      clock.advance(by: .seconds(1))
      while try names().contains(where: { $0.contains(".open-") }) { await Task.yield() }
      #expect(try names().count == round + 1)
    }
    await provider.shutdown()
    #expect(clock.sleepers == 0)
  }
}

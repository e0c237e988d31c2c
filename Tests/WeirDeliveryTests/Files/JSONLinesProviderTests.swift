// JSONLinesProvider: what is accepted is in a file, in whole lines, once, whenever the process dies and whatever fails.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

private func event(_ offset: Offset, opening: UInt64 = 7, text: String = "text") -> PreparedEvent {
  PreparedEvent(
    StoredEvent(
      offset: offset, id: EventID(opening: opening, sequence: offset + 1),
      time: Timestamp(nanosecondsSince1970: 1_795_219_200_000_000_000 + Int64(offset)), name: "sample",
      fields: ["text": .string(text)]))
}

private func events(_ offsets: some Sequence<Offset>, opening: UInt64 = 7) -> [PreparedEvent] {
  offsets.map { event($0, opening: opening) }
}

private func line(_ event: PreparedEvent) -> String { String(decoding: EventJSON.object(event), as: UTF8.self) }

private func names(_ directory: String) throws -> [String] {
  try FileManager.default.contentsOfDirectory(atPath: directory).filter { !$0.hasSuffix(".lock") }.sorted()
}

/// The lines of a file, each whole.
private func lines(_ directory: String, _ name: String) throws -> [String] {
  var bytes = Array(try Data(contentsOf: URL(filePath: "\(directory)/\(name)")))
  if name.contains(".lz4") {
    var content: [UInt8] = []
    try LZ4Reader().read(bytes) { content += $0 }
    bytes = content
  }
  guard !bytes.isEmpty else { return [] }
  #expect(bytes.last == UInt8(ascii: "\n"), "\(name) ends within a line")
  return String(decoding: bytes.dropLast(), as: UTF8.self).split(separator: "\n").map(String.init)
}

/// The lines of all finished files, in the order of their names.
private func finishedLines(_ directory: String) throws -> [String] {
  try names(directory).filter { $0.hasSuffix(".jsonl") || $0.hasSuffix(".jsonl.lz4") }
    .flatMap { try lines(directory, $0) }
}

private func quietOptions(_ change: (inout JSONLinesProvider.Options) -> Void = { _ in }) -> JSONLinesProvider.Options {
  var options = JSONLinesProvider.Options()
  options.logger = nil
  change(&options)
  return options
}

/// Calls that fail as the test says, by the number of the call.
private final class Faults: Sendable {
  let made = Mutex(0)
  let fails: @Sendable (Int, SystemCalls.Call) -> Int32?

  init(_ fails: @escaping @Sendable (Int, SystemCalls.Call) -> Int32?) {
    self.fails = fails
  }

  var calls: SystemCalls {
    SystemCalls { call in
      let number = self.made.withLock { made in
        made += 1
        return made
      }
      return self.fails(number, call)
    }
  }
}

private func provider(
  _ directory: String, _ options: JSONLinesProvider.Options = quietOptions(), _ faults: Faults? = nil
) -> JSONLinesProvider {
  JSONLinesProvider(
    directory, name: "files", options: options, clock: ContinuousClock(), calls: faults?.calls ?? SystemCalls())
}

struct JSONLinesProviderTests {
  @Test func `an open file says in its name what counts, and is finished by the shutdown`() async throws {
    try await withDirectoryAsync { directory in
      let files = provider(directory)
      try await files.setup()
      #expect(try names(directory) == [])
      #expect(try await files.deliver([]) == [])
      #expect(try names(directory) == [])
      let all = events(500..<1500)
      #expect(try await files.deliver(Array(all[..<400])).count == 400)
      let first = all[..<400].map { line($0).utf8.count + 1 }.reduce(0, +)
      #expect(
        try names(directory)
          == ["files-00000000000000000500-00000000000000000899-0000000000000007.jsonl.open-\(first)"])
      #expect(try await files.deliver(Array(all[400...])).allSatisfy { $0 == .accepted })
      let name = "files-00000000000000000500-00000000000000001499-0000000000000007.jsonl"
      #expect(try names(directory).map { $0.prefix(name.count) } == [name[...]])
      await files.shutdown()
      #expect(try names(directory) == [name])
      #expect(try lines(directory, name) == all.map(line))
    }
  }

  @Test(arguments: [false, true])
  func `a file is finished by the delivery that fills it`(isCompressed: Bool) async throws {
    try await withDirectoryAsync { directory in
      let files = provider(
        directory,
        quietOptions {
          $0.fileBytes = isCompressed ? 500 : 2000
          $0.isCompressed = isCompressed
        })
      let all = events(0..<100)
      for start in stride(from: 0, to: 100, by: 5) { _ = try await files.deliver(Array(all[start..<start + 5])) }
      let suffix = isCompressed ? ".jsonl.lz4" : ".jsonl"
      let finished = try names(directory).filter { $0.hasSuffix(suffix) }
      #expect((3...10).contains(finished.count))
      for name in finished {
        let size = try Data(contentsOf: URL(filePath: "\(directory)/\(name)")).count
        #expect(size >= (isCompressed ? 500 : 2000))
      }
      await files.shutdown()
      #expect(try finishedLines(directory) == all.map(line))
    }
  }

  @Test func `an event that comes again is accepted, and not written again`() async throws {
    try await withDirectoryAsync { directory in
      // With holes: what a hook dropped is in no file, however its neighbours are.
      let odd = events(stride(from: 1, to: 400, by: 2))
      let even = events(stride(from: 0, to: 400, by: 2))
      for isCompressed in [false, true] {
        let options = quietOptions {
          $0.fileBytes = 3000
          $0.isCompressed = isCompressed
        }
        let files = provider(directory, options)
        _ = try await files.deliver(odd)
        // While the file is open, when it is finished, and after a restart.
        #expect(try await files.deliver(Array(odd[20..<30])).count == 10)
        await files.shutdown()
        let again = provider(directory, options)
        for start in stride(from: 0, to: 200, by: 40) {
          _ = try await again.deliver(Array(odd[start..<start + 40]))
        }
        await again.shutdown()
        #expect(try finishedLines(directory) == odd.map(line))
      }
      let files = provider(directory)
      #expect(try await files.deliver(even).count == even.count)
      _ = try await files.deliver(Array((even + odd).shuffled().prefix(50)))
      await files.shutdown()
      #expect(try finishedLines(directory).sorted() == (odd + even).map(line).sorted())
      // A file that was taken away has nothing.
      for name in try names(directory) { try FileManager.default.removeItem(atPath: "\(directory)/\(name)") }
      _ = try await files.deliver(odd)
      await files.shutdown()
      #expect(try finishedLines(directory) == odd.map(line))
    }
  }

  @Test func `a file has events of one opening, in rising order`() async throws {
    try await withDirectoryAsync { directory in
      let files = provider(directory)
      let batch = events(0..<10) + events(10..<20, opening: 8) + events(3..<5, opening: 8) + events(20..<21, opening: 8)
      _ = try await files.deliver(batch)
      // Once within a call too.
      _ = try await files.deliver([event(30), event(30), event(31), event(30)])
      await files.shutdown()
      #expect(
        try names(directory).map { $0.dropLast(6) } == [
          "files-00000000000000000000-00000000000000000009-0000000000000007",
          "files-00000000000000000003-00000000000000000020-0000000000000008",
          "files-00000000000000000010-00000000000000000019-0000000000000008",
          "files-00000000000000000030-00000000000000000031-0000000000000007",
        ])
      #expect(try finishedLines(directory).count == 10 + 10 + 2 + 1 + 2)
    }
  }

  @Test func `an event of any size is written whole`() async throws {
    try await withDirectoryAsync { directory in
      for isCompressed in [false, true] {
        let files = provider(directory, quietOptions { $0.isCompressed = isCompressed })
        let opening: UInt64 = isCompressed ? 2 : 1
        let texts = [0, 1, 1 << 20, 5].map { String(repeating: "é", count: $0) }
        let all = texts.enumerated().map { event(Offset($0.offset), opening: opening, text: $0.element) }
        _ = try await files.deliver(all)
        _ = try await provider(directory + "/other", quietOptions { $0.isCompressed = isCompressed }).deliver(all)
        await files.shutdown()
        let name = try #require(try names(directory).first { $0.contains("-000000000000000\(opening)") })
        #expect(try lines(directory, name) == all.map(line))
        let again = provider(directory, quietOptions { $0.isCompressed = isCompressed })
        _ = try await again.deliver(all)
        await again.shutdown()
        #expect(try finishedLines(directory).count == 4 * Int(opening))
      }
    }
  }
}

// MARK: Kills and failures

extension JSONLinesProviderTests {
  private struct Killed {
    var accepted: [PreparedEvent] = []
    var didEnd = false
  }

  private static let scenario: [[PreparedEvent]] = [
    events(0..<6), events(6..<7), events(8..<20), events(20..<22, opening: 8), events(22..<30, opening: 8),
  ]

  /// Delivers the scenario until the process dies.
  private func deliver(to directory: String, _ options: JSONLinesProvider.Options, _ faults: Faults) async -> Killed {
    let files = provider(directory, options, faults)
    var killed = Killed()
    for batch in Self.scenario {
      do {
        #expect(try await files.deliver(batch) == batch.map { _ in .accepted })
        killed.accepted += batch
      } catch {
        return killed
      }
    }
    await files.shutdown()
    killed.didEnd = true
    return killed
  }

  /// Killed before each call to the system, and in the middle of a write.
  @Test(arguments: [false, true], [false, true])
  func `a provider killed at any call writes every event once`(isCompressed: Bool, isTorn: Bool) async throws {
    let options = quietOptions {
      $0.fileBytes = 1200
      $0.isCompressed = isCompressed
    }
    let all = Self.scenario.flatMap { $0 }.map(line)
    var steps = 0
    for step in 1...1000 {
      let killed = try await withDirectoryAsync { directory in
        let faults = Faults { number, call in
          if number == step, call == .write, isTorn { Self.tear(directory) }
          return number >= step ? EIO : nil
        }
        let killed = await deliver(to: directory, options, faults)
        // What is finished is whole, and holds nothing that was not delivered.
        let finished = try finishedLines(directory)
        #expect(Set(finished).count == finished.count)
        #expect(Set(finished).isSubset(of: all))
        // What was accepted counts already: the next one only gives it its name.
        let next = provider(directory, options)
        try await next.setup()
        let kept = try finishedLines(directory)
        #expect(Set(killed.accepted.map(line)).isSubset(of: kept), "step \(step)")
        #expect(Set(kept).count == kept.count)
        #expect(Set(kept).isSubset(of: all))
        for batch in Self.scenario { _ = try await next.deliver(batch) }
        await next.shutdown()
        #expect(try finishedLines(directory).sorted() == all.sorted(), "step \(step)")
        #expect(try names(directory).allSatisfy { $0.hasSuffix(isCompressed ? ".jsonl.lz4" : ".jsonl") })
        return killed
      }
      steps = step
      if killed.didEnd { break }
    }
    // Fewer would mean that calls go past the door.
    #expect((30..<200).contains(steps))
  }

  /// A part of a line at the end of the file that grows: as much as a kill in the middle of a write leaves.
  private static func tear(_ directory: String) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    for name in names where name.contains(".open-") || name.hasSuffix(".new") {
      guard let file = FileHandle(forWritingAtPath: "\(directory)/\(name)") else { continue }
      _ = try? file.seekToEnd()
      try? file.write(contentsOf: Data(#"{"id":"0000000000000007000000"#.utf8))
      try? file.close()
    }
  }

  @Test(arguments: [ENOSPC, EIO, EACCES, EROFS, EDQUOT, EMFILE])
  func `events come again after a failure of any call, and are written once`(error: Int32) async throws {
    let options = quietOptions { $0.fileBytes = 1200 }
    let all = Self.scenario.flatMap { $0 }.map(line)
    var failures = 0
    for step in 1...1000 {
      let isOver = try await withDirectoryAsync { directory in
        let faults = Faults { number, _ in number == step ? error : nil }
        let files = provider(directory, options, faults)
        // The directory around is synced too.
        let around = URL(filePath: directory).deletingLastPathComponent().path
        var thrown = 0
        for batch in Self.scenario {
          do {
            _ = try await files.deliver(batch)
          } catch let failure as WeirError {
            thrown += 1
            #expect(failure.systemError == error)
            #expect(failure.message.contains(around))
            _ = try await files.deliver(batch)
          }
        }
        await files.shutdown()
        // A shutdown that fails leaves it to the next setup.
        try await provider(directory, options).setup()
        #expect(try finishedLines(directory) == all)
        failures += thrown
        return faults.made.withLock { $0 } < step
      }
      if isOver { break }
    }
    #expect(failures > 25)
  }

  /// The disk stays full for a while: nothing piles up, and nothing is accepted.
  @Test func `a disk that is full for long costs nothing, and piles nothing up`() async throws {
    try await withDirectoryAsync { directory in
      let isFull = Mutex(false)
      let faults = Faults { _, call in call == .write && isFull.withLock { $0 } ? ENOSPC : nil }
      let files = provider(directory, quietOptions(), faults)
      _ = try await files.deliver(events(0..<10))
      isFull.withLock { $0 = true }
      for _ in 0..<20 {
        let error = await #expect(throws: WeirError.self) { try await files.deliver(events(10..<20)) }
        #expect(error?.code == .noSpace)
        #expect(error?.message.contains("free space on the disk") == true)
      }
      #expect(try names(directory).count == 2)
      isFull.withLock { $0 = false }
      _ = try await files.deliver(events(10..<20))
      await files.shutdown()
      #expect(try finishedLines(directory) == events(0..<20).map(line))
    }
  }
}

extension JSONLinesProviderTests {
  @Test func `a file is synced before it is renamed, and the directory before it is accepted`() async throws {
    try await withDirectoryAsync { directory in
      let made = Mutex<[SystemCalls.Call]>([])
      let faults = Faults { _, call in
        made.withLock { $0.append(call) }
        return nil
      }
      let files = provider(directory, quietOptions { $0.fileBytes = 1000 }, faults)
      try await files.setup()
      made.withLock { $0 = [] }
      _ = try await files.deliver(events(0..<2))
      #expect(made.withLock { $0 } == [.create, .write, .syncData, .rename, .syncDirectory])
      _ = try await files.deliver(events(2..<4))
      #expect(made.withLock { $0 }.dropFirst(5) == [.write, .syncData, .rename, .syncDirectory])
      _ = try await files.deliver(events(4..<14))
      #expect(made.withLock { $0 }.dropFirst(9) == [.write, .syncData, .rename, .syncDirectory])
      #expect(try names(directory).allSatisfy { $0.hasSuffix(".jsonl") })
    }
  }
}

// MARK: The directory

extension JSONLinesProviderTests {
  @Test func `a missing directory is made, for its owner alone`() async throws {
    try await withDirectoryAsync { directory in
      for path in ["\(directory)/a/b/c", "\(directory)/d/e/"] {
        let files = provider(path)
        _ = try await files.deliver(events(0..<3))
        await files.shutdown()
        #expect(try finishedLines(path).count == 3)
      }
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/a/b")
      #expect(attributes[.posixPermissions] as? Int == 0o700)
    }
  }

  @Test func `a path that is no directory stops delivery`() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/file"
      try Data("mine".utf8).write(to: URL(filePath: path))
      for bad in [path, path + "/", path + "/deeper"] {
        let stop = await #expect(throws: DeliveryStopped.self) { try await provider(bad).setup() }
        #expect(stop?.reason.contains(bad) == true)
        await #expect(throws: DeliveryStopped.self) { try await provider(bad).deliver(events(0..<3)) }
      }
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
      await #expect(throws: DeliveryStopped.self) { try await provider("").setup() }
      await #expect(throws: DeliveryStopped.self) { try await provider(directory + "/\0").setup() }
    }
  }

  @Test(arguments: ["", "a/b", "..", "a.b", "ä", String(repeating: "n", count: 65)])
  func `a name that can't be a file's stops delivery`(name: String) async throws {
    try await withDirectoryAsync { directory in
      await #expect(throws: DeliveryStopped.self) { try await JSONLinesProvider(directory, name: name).setup() }
      let there = try names(directory)
      #expect(there.isEmpty)
    }
  }

  @Test func `a link to a directory is a directory`() async throws {
    try await withDirectoryAsync { directory in
      try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(
        atPath: directory + "/link", withDestinationPath: directory + "/real")
      let files = provider(directory + "/link")
      _ = try await files.deliver(events(0..<3))
      await files.shutdown()
      #expect(try finishedLines(directory + "/real").count == 3)
    }
  }

  @Test func `a directory that is removed stops nothing once it comes again`() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/files"
      let files = provider(path)
      _ = try await files.deliver(events(0..<3))
      try FileManager.default.removeItem(atPath: path)
      await #expect(throws: WeirError.self) { try await files.deliver(events(3..<6)) }
      #expect(try await files.deliver(events(3..<6)).count == 3)
      await files.shutdown()
      #expect(try finishedLines(path) == events(3..<6).map(line))
    }
  }

  @Test func `one provider of a name writes at a time`() async throws {
    try await withDirectoryAsync { directory in
      let first = provider(directory)
      _ = try await first.deliver(events(0..<3))
      let second = provider(directory)
      let error = await #expect(throws: WeirError.self) { try await second.deliver(events(0..<3)) }
      #expect(error?.code == .locked)
      let other = JSONLinesProvider(directory, name: "files-2", options: quietOptions())
      #expect(try await other.deliver(events(0..<3)).count == 3)
      await first.shutdown()
      #expect(try await second.deliver(events(3..<6)).count == 3)
      await second.shutdown()
      // Neither takes the other's files for its own.
      await other.shutdown()
      #expect(try names(directory).count == 3)
      #expect(try finishedLines(directory).count == 9)
    }
  }

  @Test func `files that others put there are left alone`() async throws {
    try await withDirectoryAsync { directory in
      let foreign = [
        "notes.jsonl", "files-1-2-3.jsonl", "files.jsonl", "files-x.jsonl.open-12",
        "files-00000000000000000009-00000000000000000003-0000000000000007.jsonl",
        "files-00000000000000000000-00000000000000000003-0000000000000007.jsonl.open-0",
        "files-00000000000000000000-00000000000000000003-0000000000000007.jsonl.open-+5",
        "files-00000000000000000000-00000000000000000003-000000000000000A.jsonl",
        "others-00000000000000000000-00000000000000000003-0000000000000007.jsonl.open-9",
      ]
      for name in foreign { try Data("x".utf8).write(to: URL(filePath: "\(directory)/\(name)")) }
      try Data("x".utf8).write(to: URL(filePath: "\(directory)/files.jsonl.new"))
      let files = provider(directory)
      try await files.setup()
      await files.shutdown()
      #expect(try names(directory) == foreign.sorted())
    }
  }

  @Test func `an open file that lost its end is set aside`() async throws {
    try await withDirectoryAsync { directory in
      let name = "files-00000000000000000000-00000000000000000003-0000000000000007.jsonl"
      try Data("half a li".utf8).write(to: URL(filePath: "\(directory)/\(name).open-10"))
      let files = provider(directory)
      _ = try await files.deliver(events(0..<4))
      await files.shutdown()
      #expect(try names(directory) == [name, name + ".damaged"])
      #expect(try lines(directory, name) == events(0..<4).map(line))
    }
  }

  @Test func `a finished file that was cut hides no event that it lacks`() async throws {
    try await withDirectoryAsync { directory in
      for isCompressed in [false, true] {
        let options = quietOptions { $0.isCompressed = isCompressed }
        let path = directory + "/\(isCompressed)"
        let all = events(0..<50)
        let files = provider(path, options)
        _ = try await files.deliver(all)
        await files.shutdown()
        let name = try #require(try names(path).first)
        let url = URL(filePath: "\(path)/\(name)")
        let half = try Data(contentsOf: url)
        try half.prefix(half.count / 2).write(to: url)
        let again = provider(path, options)
        _ = try await again.deliver(all)
        await again.shutdown()
        if isCompressed {
          // Of its one block nothing can be read: all is written again, under the same name.
          #expect(try names(path) == [name])
          #expect(try lines(path, name) == all.map(line))
        } else {
          let kept = try Data(contentsOf: url).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
          let other = try #require(try names(path).first { $0 != name })
          #expect(try lines(path, other) == all.dropFirst(kept.count - 1).map(line))
        }
      }
    }
  }
}

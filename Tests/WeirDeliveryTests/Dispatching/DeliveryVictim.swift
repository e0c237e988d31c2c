// DeliveryVictim: a process that captures and delivers until it is killed at a call of the system, and what has to be
// true of the log that it leaves. For tests of crashes in delivery.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

#if DEBUG
  /// The core's seam, which debug builds have: tells of each call that changes or syncs a file, before it and after.
  @_silgen_name("weir_fault_observe")
  private func observeCore(_ told: (@convention(c) (UnsafeRawPointer?, Int32) -> Void)?)
#endif

private let callsMade = Atomic<Int>(0)
private let lastCall = Atomic<Int>(.max)

/// A call of either seam is about to be made, or was made: the process dies at the last one that it may see.
private func noteCall() {
  let number = callsMade.add(1, ordering: .sequentiallyConsistent).newValue
  guard number >= lastCall.load(ordering: .relaxed) else { return }
  kill(getpid(), SIGKILL)
  while true { pause() }
}

/// Where victims live: a log, and what they said of it in a file that outlives them.
struct VictimWorld: Sendable {
  static let provider = "witness"
  private static let rejectedEvery = 7

  let path: String
  var log: String { path + "/log" }
  private var testimony: String { path + "/said" }

  static func configuration() -> Tracker.Configuration {
    quiet {
      $0.laneCount = 2
      $0.spareLanes = 1
      $0.laneBytes = 16384
      $0.maximumEventBytes = 2048
      $0.segmentBytes = 1 << 18
      $0.whenFull = .block
      $0.removeDelivered = true
      $0.batchThreads = 1
    }
  }

  /// Calls `body` with a new world. In memory where that can be: a kill leaves the page cache alone.
  static func with(_ body: (VictimWorld) async throws -> Void) async throws {
    let memory = "/dev/shm"
    let base = access(memory, W_OK) == 0 ? memory : FileManager.default.temporaryDirectory.path
    let world = VictimWorld(path: "\(base)/weir-victim-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      atPath: world.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: world.path) }
    try await body(world)
  }

  // MARK: Testimony

  /// One line of what a victim says, in the page cache when this returns.
  func say(_ line: String) {
    let file = open(testimony, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    let bytes = Array((line + "\n").utf8)
    precondition(file >= 0 && write(file, bytes, bytes.count) == bytes.count)
    close(file)
  }

  /// The lines that begin with a word, without it.
  func said(_ word: String) -> [[Substring]] {
    let text = (try? String(contentsOfFile: testimony, encoding: .utf8)) ?? ""
    var lines: [[Substring]] = []
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard let first = words.first, first == word[...] else { continue }
      lines.append(Array(words.dropFirst()))
    }
    return lines
  }

  // MARK: Lives

  /// One life: captures `count` events and delivers, and is killed at its `last`-th call of the system, or at the end.
  func live(events count: Int, last: Int, seed: UInt64) async throws {
    lastCall.store(last, ordering: .relaxed)
    #if DEBUG
      observeCore { _, _ in noteCall() }
    #endif
    try await run(events: count, seed: seed) { configuration in
      configuration.calls.fault = { _ in
        noteCall()
        return nil
      }
    }
    say("calls \(callsMade.load(ordering: .relaxed))")
    kill(getpid(), SIGKILL)
  }

  /// The same in this process, in peace.
  func run(
    events count: Int, seed: UInt64, _ change: (inout Dispatcher.Configuration) -> Void = { _ in }
  ) async throws {
    let tracker = try Tracker(directory: log, configuration: Self.configuration())
    var configuration = Dispatcher.Configuration()
    configuration.logger = nil
    configuration.cursorInterval = .zero
    change(&configuration)
    let dispatcher = try Dispatcher(tracker, configuration: configuration)
    try dispatcher.start()
    var options = DeliveryOptions()
    options.flush.maximumEvents = 25
    options.backoff.least = .milliseconds(2)
    options.backoff.failures = 1000
    try dispatcher.add(Witness(world: self, seed: seed), options: options)
    let filler = String(repeating: "weir ", count: 300)
    let first = (said("began").last?.first.flatMap { Int($0) } ?? -1) + 1
    for number in first..<first + count {
      say("began \(number)")
      let receipt = tracker.track("e", fields: ["n": .int(Int64(number)), "filler": .string(filler)])
      if let id = receipt.id { say("accepted \(number) \(id)") }
    }
    let report = await dispatcher.flush(timeout: patience)
    if !report.isComplete { say("incomplete \(report)") }
    await dispatcher.shutdown(budget: patience)
  }

  // MARK: Judging

  static func isRejected(_ number: Int) -> Bool { number % rejectedEvery == 0 }

  /// What is wrong once everything that is in the log was delivered by a last life in peace.
  func problems() throws -> [String] {
    var problems = said("incomplete").map { "a flush: \($0.joined(separator: " "))" }
    func numbered(_ word: String) -> [(Int, String)] {
      said(word).compactMap { line -> (Int, String)? in
        guard line.count == 2, let number = Int(line[0]) else { return nil }
        return (number, String(line[1]))
      }
    }
    let accepted = numbered("accepted")
    let began = Set(said("began").compactMap { $0.first.flatMap { Int($0) } })
    let taken = numbered("took")
    let letters = try LogDirectory(log).deadLetters(of: Self.provider).compactMap { letter -> (Int, String)? in
      guard case .int(let number)? = letter.event.fields["n"] else { return nil }
      return (Int(number), letter.event.id.description)
    }
    var ids: [Int: String] = [:]
    for (number, id) in taken + letters {
      if let known = ids[number], known != id { problems.append("event \(number) came as \(known) and as \(id)") }
      ids[number] = id
      if !began.contains(number) { problems.append("event \(number) was never captured") }
    }
    for (number, id) in accepted where ids[number] != id {
      problems.append("event \(number) was accepted as \(id), and came as \(ids[number] ?? "nothing")")
    }
    problems += taken.filter { Self.isRejected($0.0) }.map { "event \($0.0) was rejected, and taken" }
    problems += letters.filter { !Self.isRejected($0.0) }.map { "event \($0.0) is a dead letter" }
    guard let entry = try LogDirectory(log).ledger()[Self.provider] else { return problems + ["there is no cursor"] }
    let settled = entry.acknowledged + entry.rejected
    if !entry.isBalanced || entry.pending + entry.lostInAll > 0 || settled != UInt64(ids.count) {
      problems.append("the ledger: \(entry), and \(ids.count) came")
    }
    return problems
  }

  /// How often an event came that had come before.
  var duplicates: Int {
    let taken = said("took").map { $0[0] }
    return taken.count - Set(taken).count
  }
}

/// A provider that writes down what it takes before it answers. One event in seven it rejects; one answer in four is
/// lost on the way, and now and then a call fails before anything is taken.
struct Witness: Provider {
  let world: VictimWorld
  let seed: UInt64
  let name = VictimWorld.provider
  private let calls = Counter()

  private final class Counter: Sendable {
    let count = Atomic<UInt64>(0)
  }

  init(world: VictimWorld, seed: UInt64) {
    self.world = world
    self.seed = seed
  }

  struct Lost: Error {}

  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    let call = calls.count.add(1, ordering: .relaxed).newValue
    var mixed = (seed &+ call) &* 0x9e37_79b9_7f4a_7c15
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    let chance = (mixed ^ mixed >> 27) >> 40 % 16
    if chance == 0 { throw Lost() }
    let verdicts = events.map { event -> Verdict in
      guard case .int(let number)? = event.fields["n"] else { return .rejected("no number") }
      if VictimWorld.isRejected(Int(number)) { return .rejected("a seventh") }
      world.say("took \(number) \(event.stored.id)")
      return .accepted
    }
    if chance < 5 { throw Lost() }
    return verdicts
  }
}

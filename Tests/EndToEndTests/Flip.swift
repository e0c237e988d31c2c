// Flip.swift: one damaged byte anywhere in a segment is found, named, and costs at most the block it lies in; what is
// left is read as it was, and nothing wrong is ever read.
import Foundation
import Testing
import Weir

extension EndToEnd {
  @Suite struct Flip {
    /// What was read of an event: equal if nothing about it changed.
    struct Reading: Equatable {
      var id: EventID
      var time: Timestamp
      var name: String
      var fields: FieldObject

      /// A block has a calibration of its clock, the ring a later one: times of the two differ by nanoseconds.
      func isRescued(as other: Reading) -> Bool {
        let apart = time.nanosecondsSince1970.subtractingReportingOverflow(other.time.nanosecondsSince1970)
        return id == other.id && name == other.name && fields == other.fields && !apart.overflow
          && apart.partialValue.magnitude < 1_000_000
      }
    }

    @Test func `a flip of any byte of a small sealed segment is found, and costs at most its block`() throws {
      let scratch = try Scratch()
      try Self.recordInBlocks(scratch("log"), bursts: 12)
      let name = try #require(try Files.segments(in: scratch("log")).first)
      try Self.sweep(scratch("log"), segment: name, isDead: false, everyByte: true)
    }

    @Test func `a flip of any byte of a dead process's segment is found, and costs at most its block`() throws {
      let scratch = try Scratch()
      let child = try Child(Tool.path, ["record", scratch("log"), "--format", "lines", "--acknowledge"], input: .pipe)
      try Self.feed(child, scratch("log"), bursts: 12)
      _ = try child.kill()
      let names = try Files.segments(in: scratch("log"))
      let name = try #require(names.first { $0.hasSuffix(".active") }, "\(names)")
      try Self.sweep(scratch("log"), segment: name, isDead: true, everyByte: Run.isLong)
    }

    @Test func `the tool finds any flip in a log of several segments`() throws {
      let scratch = try Scratch()
      try Tool.record(
        scratch("log"), ["--format", "lines", "--segment-bytes", "320K"], sending: Numbered.lines(1...8000))
      try sweepThroughTool(scratch("log"), flips: Run.isLong ? 1000 : 24, isDead: false)
    }

    @Test func `the tool finds any flip in a killed log of several segments`() throws {
      let scratch = try Scratch()
      let arguments = ["record", scratch("log"), "--format", "lines", "--segment-bytes", "320K", "--acknowledge"]
      let child = try Child(Tool.path, arguments, input: .pipe)
      child.send(Numbered.lines(1...8000))
      try child.waitUntil { $0.output.count >= 38_893 }
      _ = try child.kill()
      try sweepThroughTool(scratch("log"), flips: Run.isLong ? 1000 : 24, isDead: true)
    }

    @Test func `a damaged log of a dead process reads the same before and after recovery`() throws {
      let scratch = try Scratch()
      let arguments = ["record", scratch("dead"), "--format", "lines", "--threads", "3", "--acknowledge"]
      let input = try scratch.file("input", Numbered.lines(1...60_000))
      let child = try Child(Tool.path, arguments + ["--segment-bytes", "320K"], input: .file(input))
      try child.waitUntil { $0.output.count > 20_000 }
      _ = try child.kill()
      let seed = Run.seed()
      var random = SeededRandom(seed: seed)
      let names = try Files.segments(in: scratch("dead")).suffix(3)
      for _ in 0..<(Run.isLong ? 300 : 16) {
        try? FileManager.default.removeItem(atPath: scratch("log"))
        try Files.copy(scratch("dead"), to: scratch("log"))
        let name = try #require(names.randomElement(using: &random))
        let bytes = try Files.read(scratch("log/\(name)"))
        let segment = try SegmentFile(bytes)
        let position = Self.position(in: segment, &random)
        try Files.overwrite(scratch("log/\(name)"), at: position, with: [~bytes[position]])
        let what = "WEIR_SEED=\(seed), \(name) byte \(position) (\(segment.part(at: position).part))"

        let before = CatLine.rawLines(try Tool.run("cat", scratch("log")).output)
        let recovered = try Tool.run("recover", scratch("log"))
        #expect(recovered.code == 0 || recovered.code == 1, "\(what): \(recovered.errors)")
        let after = CatLine.rawLines(try Tool.run("cat", scratch("log")).output)
        var promise = Promise()
        promise.compare(before: before, after: after, "after recovery")
        if !promise.problems.isEmpty {
          let kept = Files.keepEvidence(
            [scratch("dead"), scratch("log")], name: "flip-\(seed)-\(position)", note: what)
          Issue.record("\(what): \(promise.problems.joined(separator: "\n"))\nevidence: \(kept)")
          break
        }
      }
    }

    // MARK: In process

    /// A log of few events in many blocks, one a burst.
    private static func recordInBlocks(_ directory: String, bursts: Int) throws {
      let child = try Child(Tool.path, ["record", directory, "--format", "lines", "--acknowledge"], input: .pipe)
      try feed(child, directory, bursts: bursts)
      child.finishInput()
      try Tool.require(child.wait(), code: 0, "weir record")
    }

    /// Lines in bursts; the drainer has written a block of each before the next one.
    private static func feed(_ child: Child, _ directory: String, bursts: Int) throws {
      for burst in 0..<bursts {
        for line in 0..<3 { child.send("burst \(burst) line \(line) \(String(repeating: "x", count: burst * 7))\n") }
        let wanted = (burst + 1) * 3
        try child.waitUntil { $0.output.count { $0 == UInt8(ascii: "\n") } >= wanted }
        try child.waitUntil { _ in (try? read(directory).count) == wanted }
      }
    }

    private static func read(_ directory: String) throws -> [UInt64: Reading] {
      let reader = try EventReader(directory: directory)
      var readings: [UInt64: Reading] = [:]
      while let stored = try reader.next() {
        readings[stored.offset] = Reading(id: stored.id, time: stored.time, name: stored.name, fields: stored.fields)
      }
      return readings
    }

    private static func sweep(_ directory: String, segment name: String, isDead: Bool, everyByte: Bool) throws {
      let path = directory + "/" + name
      let bytes = try Files.read(path)
      let segment = try SegmentFile(bytes)
      #expect(segment.blocks.count > 10, "the pauses should have made many blocks")
      let clean = try read(directory)
      #expect(clean.count >= 36)
      #expect(try LogDirectory(directory).verify { _ in }.findings == 0)

      let seed = Run.seed()
      var random = SeededRandom(seed: seed)
      var problems: [String] = []
      var flips = 0
      for position in 0..<segment.end where everyByte || position % 7 == 0 || position < segment.headerBytes {
        var mask = UInt8.random(in: 1...255, using: &random)
        // A segment that says it is of version 2 is not damaged but newer, and refused as that.
        if position == SegmentFile.majorVersion, bytes[position] ^ mask == bytes[position] + 1 { mask = 0xff }
        try Files.overwrite(path, at: position, with: [bytes[position] ^ mask])
        flips += 1
        let what = "byte \(position) ^ \(mask) (\(segment.part(at: position).part))"
        var names: [String] = []
        do {
          let found = try LogDirectory(directory).verify { names.append($0.file) }
          if found.findings == 0 { problems.append("\(what): not found") }
          if !names.contains(name) { problems.append("\(what): the file is not named, but \(names)") }
          let lost = segment.part(at: position).lost
          problems += compare(clean, try read(directory), lost: lost, isDead: isDead).map { "\(what): \($0)" }
        } catch {
          problems.append("\(what): \(error)")
        }
        try Files.overwrite(path, at: position, with: [bytes[position]])
      }
      #expect(problems.isEmpty, "\(problems.count) of \(flips), WEIR_SEED=\(seed): \(problems.prefix(12))")
      #expect(try read(directory) == clean, "the file is whole again")
      Run.say("\(flips) flips in \(name), \(segment.blocks.count) blocks")
    }

    /// What is wrong with a reading of the damaged log: nothing outside the damaged block may be missing, nothing at
    /// all may be different. A dead process's lanes may still hold what the damaged block held: then an event may be
    /// there under a new offset, with a time of the ring's calibration, but else only as it was.
    private static func compare(
      _ clean: [UInt64: Reading], _ damaged: [UInt64: Reading], lost: Range<UInt64>, isDead: Bool
    ) -> [String] {
      var problems: [String] = []
      for (offset, reading) in clean where !lost.contains(offset) && damaged[offset] != reading {
        problems.append("offset \(offset) is \(damaged[offset].map { "\($0)" } ?? "gone")")
      }
      for (offset, reading) in damaged where clean[offset] != reading {
        if reading.name.hasPrefix("weir.") { continue }
        let mayBeRescued = isDead && (clean[offset] == nil || lost.contains(offset))
        let isRescued = mayBeRescued && clean.values.contains { $0.isRescued(as: reading) }
        if !isRescued { problems.append("offset \(offset) reads \(reading), not \(clean[offset] as Reading?)") }
      }
      return problems
    }
  }
}

extension EndToEnd.Flip {
  // MARK: Through the tool

  private func sweepThroughTool(_ directory: String, flips: Int, isDead: Bool) throws {
    let clean = try Tool.cat(directory)
    let before = Dictionary(uniqueKeysWithValues: clean.map { ($0.offset, $0.raw) })
    let names = try Files.segments(in: directory)
    #expect(names.count > 1)
    let seed = Run.seed()
    var random = SeededRandom(seed: seed)
    var problems: [String] = []
    for _ in 0..<flips {
      let name = try #require(names.randomElement(using: &random))
      let path = directory + "/" + name
      let bytes = try Files.read(path)
      let segment = try SegmentFile(bytes)
      let position = Self.position(in: segment, &random)
      try Files.overwrite(path, at: position, with: [bytes[position] ^ (1 << UInt8.random(in: 0...7, using: &random))])
      let (part, lost) = segment.part(at: position)
      // With the last block of a dead process's log goes the word on what its lanes had handed over: what follows in
      // the lanes is then read together with what the lanes still hold of the block, at offsets further on.
      let isLast = name == names.last && segment.blocks.last { $0.kind == SegmentFile.events }?.offsets == lost
      problems += try check(directory, name, before, lost, isDead: isDead, mayMoveOn: isDead && isLast)
        .map { "\(name) byte \(position) (\(part)): \($0)" }
      try Files.overwrite(path, at: position, with: [bytes[position]])
    }
    #expect(problems.isEmpty, "\(problems.count) problems, WEIR_SEED=\(seed): \(problems.prefix(8))")
    try Tool.require(Tool.run("verify", directory), code: 0, "weir verify of the log made whole again")
  }

  /// Every kind of place as often as any other, however few bytes it has.
  private static func position(in segment: SegmentFile, _ random: inout SeededRandom) -> Int {
    let block = segment.blocks.randomElement(using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return Int.random(in: 0..<segment.headerBytes, using: &random)
    case 1:
      let start = block?.range.lowerBound ?? 0
      return start + Int.random(in: 0..<SegmentFile.blockHeaderBytes, using: &random)
    case 2:
      let seal = segment.blocks.last?.range ?? 0..<1
      return Int.random(in: seal, using: &random)
    default: return Int.random(in: block?.range ?? 0..<1, using: &random)
    }
  }

  private func check(
    _ directory: String, _ name: String, _ before: [UInt64: Data], _ lost: Range<UInt64>, isDead: Bool, mayMoveOn: Bool
  ) throws -> [String] {
    var problems: [String] = []
    let verified = try Tool.run("verify", directory)
    if verified.code != 1 { problems.append("verify exits \(verified.code ?? -1)") }
    if !(verified.text + verified.errors).contains(name) { problems.append("verify does not name it") }
    let outcome = try Tool.run("cat", directory)
    if outcome.code != 0 && outcome.code != 1 { problems.append("cat exits \(outcome.code ?? -1): \(outcome.errors)") }
    let lines = try CatLine.parse(outcome.output).filter { !$0.isNotice }
    let after = Dictionary(lines.map { ($0.offset, $0.raw) }) { first, _ in first }
    if after.count != lines.count { problems.append("an offset is there twice") }
    let places = Dictionary(lines.map { (Self.captured($0.raw), $0.offset) }) { first, _ in first }
    if places.count != lines.count { problems.append("an event is there twice") }

    for (offset, raw) in before.sorted(by: { $0.key < $1.key }) where !lost.contains(offset) && after[offset] != raw {
      if mayMoveOn, let place = places[Self.captured(raw)], place > offset, offset >= lost.upperBound { continue }
      problems.append("offset \(offset), outside \(lost), is \(Self.excerpt(after[offset]))")
      break
    }
    let events = Set(before.values.map(Self.captured))
    for (offset, raw) in after where before[offset] != raw {
      let mayBeRescued = isDead && lost.contains(offset) || mayMoveOn && offset >= lost.upperBound
      if mayBeRescued, events.contains(Self.captured(raw)) { continue }
      problems.append("offset \(offset) is wrong: \(Self.excerpt(raw))")
      break
    }
    return problems
  }

  /// A line without its offset and its time, which a rescue from a lane may change: see `Reading.isRescued`.
  private static func captured(_ raw: Data) -> Data {
    let parts = raw.split(separator: UInt8(ascii: ","), maxSplits: 3)
    return parts.count == 4 ? parts[1] + parts[3] : raw
  }

  private static func excerpt(_ raw: Data?) -> String {
    raw.map { String(decoding: $0.prefix(200), as: UTF8.self) } ?? "gone"
  }
}

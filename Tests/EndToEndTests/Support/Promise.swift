// Promise.swift: what a log owes to whoever recorded into it and died, checked against what `weir cat` gives before and
// after recovery:
//
//   - every acknowledged line is there, before and after, each once
//   - an event has the same offset, id, time and fields before and after; offsets ascend without a repetition
//   - a recording thread's events are a prefix of its share of the input, in their order
import Foundation

/// One life of `weir record`, fed with numbered lines from 1 on.
struct Life {
  var threads: Int
  /// The line numbers that it acknowledged, in the order it did.
  var acknowledged: [Int]

  /// Reads them from its standard output. A line without an end was never printed whole: a kill may cut the write.
  init(threads: Int, output: Data) {
    self.threads = threads
    let whole = output.prefix(upTo: (output.lastIndex(of: UInt8(ascii: "\n")) ?? output.startIndex - 1) + 1)
    acknowledged = whole.split(separator: UInt8(ascii: "\n")).map { Int(String(decoding: $0, as: UTF8.self)) ?? -1 }
  }
}

/// Collects what is wrong with one log, in words.
struct Promise {
  private(set) var problems: [String] = []

  mutating func note(_ problem: String) {
    if problems.count < 20 { problems.append(problem) }
  }

  /// Both readings, as the lines of `weir cat`, must tell the same events.
  mutating func compare(before: [Data], after: [Data], _ what: String) {
    if before == after { return }
    do {
      let first = try before.map { try CatLine($0) }
      let second = try after.map { try CatLine($0) }
      let events = (first.filter { !$0.isNotice }, second.filter { !$0.isNotice })
      if events.0.count != events.1.count {
        note("\(what): \(events.0.count) events before, \(events.1.count) after")
      }
      for (old, new) in zip(events.0, events.1) where old.raw != new.raw {
        let texts = [old, new].map { String(decoding: $0.raw.prefix(200), as: UTF8.self) }
        note("\(what): \(texts[0]) became \(texts[1])")
        break
      }
      // Recovery may write down something new about the log, but takes back nothing that a reader has been told.
      let notices = Set(second.filter(\.isNotice).map(\.raw))
      for notice in first where notice.isNotice && !notices.contains(notice.raw) {
        note("\(what): a notice vanished: \(String(decoding: notice.raw, as: UTF8.self))")
      }
    } catch {
      note("\(what): \(error)")
    }
  }

  /// `lines` are those that `lives` left behind, one life after the other, in the order of the log.
  mutating func hold(_ lines: [Data], against lives: [Life]) {
    var stored: [CatLine] = []
    do { stored = try lines.map { try CatLine($0) } } catch { note("\(error)") }
    for (one, next) in zip(stored, stored.dropFirst()) where next.offset <= one.offset {
      note("offset \(next.offset) follows \(one.offset)")
    }
    if Set(stored.map(\.id)).count != stored.count { note("an id is there twice") }

    // Each life has an opening of its own, and openings follow each other in the log.
    var groups: [(opening: Substring, lines: [CatLine])] = []
    for line in stored where !line.isNotice {
      if groups.last?.opening != line.opening { groups.append((line.opening, [])) }
      groups[groups.count - 1].lines.append(line)
    }
    if Set(groups.map(\.opening)).count != groups.count { note("openings are mixed up in the log") }
    var rest = groups[...]
    for (index, life) in lives.enumerated() {
      // A life that was killed before its first capture left nothing, unless it acknowledged something.
      let laterNeedThem = rest.count <= lives[(index + 1)...].filter { !$0.acknowledged.isEmpty }.count
      if life.acknowledged.isEmpty, rest.isEmpty || laterNeedThem { continue }
      guard let group = rest.popFirst() else {
        note("\(life.acknowledged.count) acknowledged lines and not one event of them")
        continue
      }
      hold(group.lines, against: life)
    }
    if !rest.isEmpty { note("\(rest.count) openings with events that nobody recorded") }
  }

  private mutating func hold(_ group: [CatLine], against life: Life) {
    var present = Set<Int>()
    var lanes: [UInt64: [Int]] = [:]
    for line in group {
      guard let number = line.text.flatMap(Numbered.number(of:)) else {
        note("offset \(line.offset) is no line of the input: \(String(decoding: line.raw.prefix(200), as: UTF8.self))")
        continue
      }
      if !present.insert(number).inserted { note("line \(number) is there twice, at offset \(line.offset) too") }
      lanes[line.lane, default: []].append(number)
    }
    let missing = life.acknowledged.filter { !present.contains($0) }
    if !missing.isEmpty {
      note("\(missing.count) of \(life.acknowledged.count) acknowledged lines are lost, the first \(missing.prefix(5))")
    }
    if Set(life.acknowledged).count != life.acknowledged.count { note("a line is acknowledged twice") }
    // Line n goes to thread (n - 1) mod N: a thread's events are a prefix of its share of the input.
    for (lane, numbers) in lanes {
      let first = numbers[0]
      let share = stride(from: first, to: first + numbers.count * life.threads, by: life.threads)
      if first > life.threads || numbers != Array(share) {
        note("lane \(lane) holds no prefix of a thread's lines: \(numbers.prefix(5)) to \(numbers.suffix(3))")
      }
    }
    if lanes.count > life.threads { note("\(lanes.count) lanes used by \(life.threads) threads") }
    if life.threads == 1 {
      if life.acknowledged != Array(1..<life.acknowledged.count + 1) { note("acknowledgements are out of order") }
    }
  }
}

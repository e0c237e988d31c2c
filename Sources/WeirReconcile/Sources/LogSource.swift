// LogSource: the events of a log as a side.

import Synchronization
import Weir
import WeirDelivery

/// A log, whose events a plan may map for the comparison. The log's own notices are no events.
final class LogSource: EventSource {
  /// Events closer than this are read in one go.
  private static let gap: Offset = 4_096
  private static let blockEvents = 1_024
  private static let blockBytes = 256 << 10

  let directory: String
  /// What a provider gets of each event; `nil` for the events as they are.
  let entry: DeliveryPlan.Entry?
  /// The path of the field that holds another program's id; `nil` for none.
  let foreignIDPath: String?
  /// Whether the events are a control's: their ids are those that they carry, unless the log is a copy.
  let isControl: Bool
  /// The offsets in the log's segments when the comparison began.
  let range: Range<Offset>
  /// The log's first offset: above 0 if retention removed events.
  private let firstOffset: Offset
  /// What a copy of the log has too, which is not read.
  private let equal: EqualSegments
  private let found = Mutex(Found())

  /// What a log says of events that are not in it, found while its events were read.
  struct Found: Codable {
    var notices: [LossAccount.Notice] = []
    /// Stretches that can't be read.
    var damage: [LossAccount.Loss] = []
    var times: ClosedRange<Int64>?
    /// The fields whose values are sensitive in some event.
    var sensitive: Set<String> = []
    /// The time of the first event of each opening.
    var openings: [UInt64: Int64] = [:]
  }

  init(
    _ directory: String, entry: DeliveryPlan.Entry? = nil, foreignIDPath: String? = nil, isControl: Bool = false,
    from start: Offset = 0
  ) throws(WeirError) {
    self.directory = directory
    self.entry = entry
    self.foreignIDPath = foreignIDPath
    self.isControl = isControl
    let tally = try LogDirectory(directory).tally(from: 0)
    firstOffset = tally.firstOffset
    let first = max(tally.firstOffset, min(start, tally.nextOffset))
    range = first..<max(first, tally.nextOffset)
    equal = EqualSegments()
  }

  /// The same log, without what a copy of the log has too.
  init(_ whole: LogSource, without equal: EqualSegments) {
    directory = whole.directory
    entry = whole.entry
    foreignIDPath = whole.foreignIDPath
    isControl = whole.isControl
    range = whole.range
    firstOffset = whole.firstOffset
    self.equal = equal
    found.withLock { $0.times = equal.times }
  }

  var hasForeignIDs: Bool { foreignIDPath != nil }

  func parts(_ count: Int) throws(WeirError) -> [Range<Offset>] {
    var rest: [Range<Offset>] = []
    var start = range.lowerBound
    for part in equal.offsets where part.lowerBound >= start && part.upperBound <= range.upperBound {
      if start < part.lowerBound { rest.append(start..<part.lowerBound) }
      start = part.upperBound
    }
    // The last part has no end: events in lanes have no offset yet, and those of a dead writer can be read.
    rest.append(start..<max(start + 1, range.upperBound))
    let size = max(1, (rest.reduce(0) { $0 + $1.count } + count - 1) / count)
    var parts = rest.flatMap { part in
      stride(from: part.lowerBound, to: part.upperBound, by: size).map { $0..<min($0 + Offset(size), part.upperBound) }
    }
    parts[parts.count - 1] = parts[parts.count - 1].lowerBound..<Offset.max
    return parts
  }

  /// Counts the events that are not read, by name. Reads their blocks, without decoding an event.
  func equalNames(threads: Int) throws(WeirError) -> [String: UInt64] {
    let counts = Mutex<[String: UInt64]>([:])
    try Workers.forEach(equal.offsets.count, threads: threads) { number throws(WeirError) in
      let part = self.equal.offsets[number]
      let reader = try EventReader(directory: self.directory, from: part.lowerBound)
      var own: [String: UInt64] = [:]
      reading: while let block = try reader.nextBlock(most: Self.blockEvents, bytes: Self.blockBytes) {
        for index in 0..<block.count {
          if block[index].offset >= part.upperBound { break reading }
          if !block[index].isOfTheLog { own[block[index].name, default: 0] += 1 }
        }
      }
      counts.withLock { [own] in $0.merge(own, uniquingKeysWith: +) }
    }
    return counts.withLock { $0 }
  }

  func read(
    _ part: Range<Offset>, _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void
  ) throws(WeirError) -> UInt64 {
    let reader = try EventReader(directory: directory, from: part.lowerBound)
    var last = Int64.min
    var damage: [LossAccount.Loss] = []
    reader.onSkip = { skip in
      // A part ends within the stretch at whose end the next part begins.
      guard part.contains(skip.firstOffset), !skip.isRemoval else { return }
      let count = skip.count == 0 ? nil : skip.count
      damage.append(.init(reason: "damaged: \(skip.reason)", from: last, to: .max, count: count))
    }
    var mapper = Mapper(self)
    var times: ClosedRange<Int64>?
    var openings: [UInt64: Int64] = [:]
    var sensitive: Set<String> = []
    reading: while let block = try reader.nextBlock(most: Self.blockEvents, bytes: Self.blockBytes) {
      for index in 0..<block.count {
        let event = block[index]
        if event.offset >= part.upperBound { break reading }
        if event.isOfTheLog { note(event.stored) }
        guard let compared = mapper.compared(event) else { continue }
        last = event.entry.time
        for index in damage.indices.reversed() {
          guard damage[index].to == .max else { break }
          damage[index].to = last
        }
        let time = compared.time
        times = min(times?.lowerBound ?? time, time)...max(times?.upperBound ?? time, time)
        openings[event.id.opening] = min(openings[event.id.opening] ?? last, last)
        sensitive.formUnion(compared.sensitive)
        try body(compared, event.offset)
      }
    }
    found.withLock { found in
      found.sensitive.formUnion(sensitive)
      found.damage += damage
      found.openings.merge(openings, uniquingKeysWith: min)
      guard let times else { return }
      let known = found.times ?? times
      found.times = min(known.lowerBound, times.lowerBound)...max(known.upperBound, times.upperBound)
    }
    // A control's damage is what can't be read of it.
    return UInt64(damage.count)
  }

  /// The fields whose values are sensitive in some event. Call after the log was read.
  var sensitiveFields: Set<String> { found.withLock { $0.sensitive } }

  /// Whether this log and another one are copies of one log, or of parts of it: a copy has the log's id.
  func isCopy(of other: LogSource) throws(WeirError) -> Bool {
    guard let id = try logID(), try other.logID() == id else {
      // Segments that were copied alone.
      let own = try EventReader(directory: directory, from: range.lowerBound).next()
      let others = try EventReader(directory: other.directory, from: other.range.lowerBound).next()
      return own != nil && own?.id.opening == others?.id.opening
    }
    return true
  }

  /// The bytes of the log's file `lock`, which has the log's id. Returns `nil` without such a file.
  private func logID() throws(WeirError) -> [UInt8]? {
    let calls = SystemCalls()
    let folder = try calls.openDirectory(directory + "/.")
    guard let lock = try calls.open("lock", in: folder, forWriting: false) else { return nil }
    let bytes = try calls.read(lock, 64, at: 0)
    return bytes.count == 64 ? bytes : nil
  }

  private func note(_ event: StoredEvent) {
    if let notice = LossAccount.Notice(event) { found.withLock { $0.notices.append(notice) } }
  }

  /// What was found when the log was read. Another process may have read the log.
  var findings: Found { found.withLock { $0 } }

  func resume(_ findings: Found) { found.withLock { $0 = findings } }

  /// What the log says of events that are not in it. Call after the log was read. Of a window nothing is said of what is
  /// before or behind the log: the log may have stopped.
  func losses(tolerance: Int64, in window: ComparisonWindow?) -> LossAccount {
    let found = findings
    let notices = found.notices.sorted { $0.offset < $1.offset }
    return LossAccount(
      LossAccount.losses(notices, openings: found.openings) + found.damage,
      beginning: window == nil ? found.times?.lowerBound : nil, isBeginningRemoved: firstOffset > 0,
      tolerance: tolerance, explained: window?.explained ?? [:])
  }

  /// A text that is another one for another log, or for a log with other events.
  func state() throws(WeirError) -> String {
    "\(directory) \(range) \(try logID() ?? [])"
  }

  func read(at places: [UInt64], _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void) throws(WeirError) {
    var mapper = Mapper(self)
    var reader: EventReader?
    var held: StoredEvent?
    for place in places {
      if held.map({ place - min(place, $0.offset) > Self.gap }) ?? true {
        reader = try EventReader(directory: directory, from: place)
        held = try reader?.next()
      }
      while let event = held, event.offset < place { held = try reader?.next() }
      if let event = held, event.offset == place, let compared = mapper.compared(event) { try body(compared, place) }
    }
  }

  /// Makes events comparable. One for each thread.
  private struct Mapper {
    private let source: LogSource
    private var preparation: Preparation?

    init(_ source: LogSource) {
      self.source = source
      preparation = source.entry.map { Preparation($0.options, mapper: $0.mapper) }
    }

    mutating func compared(_ event: EncodedEvent) -> ComparedEvent? {
      event.isOfTheLog ? nil : compared(event.stored, isPlain: event.isPlain)
    }

    /// `nil` for a notice. An event that the plan withholds is as it was captured, with an outcome.
    mutating func compared(_ stored: StoredEvent, isPlain: Bool = false) -> ComparedEvent? {
      guard !stored.isNotice else { return nil }
      var event = ComparedEvent(
        name: stored.name, user: stored.context.user?.id, time: stored.time.nanosecondsSince1970, id: stored.id,
        fields: stored.fields)
      if !isPlain {
        let shown = stored.redacted().fields
        event.sensitive = Set(stored.fields.filter { shown[$0.name] != $0.value }.map(\.name))
      }
      if preparation != nil {
        if let prepared = preparation?.prepare(stored) {
          event.name = prepared.name
          event.fields = prepared.fields
          event.user = prepared.context.user?.id
        } else {
          event.outcome = "withheld by the plan"
        }
      }
      if source.isControl { event.takeCarried() }
      if let path = source.foreignIDPath, let value = stored.fields[path] {
        event.foreignID = ValueHash.plainText(value)
      }
      return event
    }
  }
}

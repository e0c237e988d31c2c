// EventStream: one page's stream of events: frames at a steady pace, whatever the rate of the log.

import Weir
import WeirDelivery

/// Writes the messages of one stream: see the page MonitorProtocol.
///
/// A reader that is slow makes the stream slow: the next frame is made when the last one was taken, and says how many
/// events it left out. So a stream has one frame in memory, at most.
struct EventStream: Sendable {
  /// The time between two frames.
  private static let pace = Duration.milliseconds(80)
  private static let heartbeat = Duration.seconds(15)
  /// The time between two looks for a log that is not there.
  private static let missingPause = Duration.milliseconds(500)

  private let watch: LogWatch
  private let filter: EventFilter
  private let from: Offset?
  private let showsSensitive: Bool

  init(_ watch: LogWatch, filter: EventFilter, from: Offset?, showsSensitive: Bool) {
    self.watch = watch
    self.filter = filter
    self.from = from
    self.showsSensitive = showsSensitive
  }

  /// Writes messages until the task is cancelled, `isEnding` returns `true`, `write` throws because the reader is gone,
  /// or the log can't be read.
  func run(
    _ write: ([UInt8]) async throws -> Void, streams: () -> Int, isEnding: () -> Bool
  ) async throws {
    var next = from
    // A browser that lost its connection comes back after a second.
    try await write(Array("retry: 1000\n\n".utf8))
    while !Task.isCancelled, !isEnding() {
      do {
        try await follow(&next, write, streams, isEnding)
      } catch let error as WeirError {
        guard error.code == .missing else {
          return try await write(Self.message("failure", .object(["error": .string(error.message)])))
        }
        // The log may come, or come again: then from its beginning.
        next = nil
        try await write(Self.message("waiting", .object(["error": .string(error.message)])))
        try await Task.sleep(for: Self.missingPause)
      }
    }
  }

  private func follow(
    _ next: inout Offset?, _ write: ([UInt8]) async throws -> Void, _ streams: () -> Int, _ isEnding: () -> Bool
  ) async throws {
    let start = try firstOffset(after: next)
    if let next, start < next {
      try await write(Self.message("waiting", .object(["error": "the log was replaced, or has lost its end"])))
    }
    let scan = try EventScan(watch.log, from: start, filter: filter, showsSensitive: showsSensitive)
    var rows = SentRows(before: next ?? 0)
    var providers: [String]?
    var version: UInt64 = 0
    var last: (isAtEnd: Bool, isLive: Bool)?
    var sumsAt = ContinuousClock.now
    var writtenAt = sumsAt
    while !Task.isCancelled, !isEnding() {
      let began = ContinuousClock.now
      let known = try watch.refresh()
      var text: [UInt8] = []
      if providers != known.providers {
        providers = known.providers
        rows.forgetStates()
        text += Self.message("providers", .array(known.providers.map { .string($0) }))
      }
      let found = try scan.look(until: began + Self.pace) { watch.findings(of: $0) }
      let changed = rows.changed(if: version != known.version || !text.isEmpty, watch)
      version = known.version
      let now = (isAtEnd: found.isAtEnd, isLive: scan.isLive)
      if found.looked > 0 || !changed.isEmpty || !found.skipped.isEmpty || last.map({ $0 != now }) ?? true {
        text += try frame(found, changed, isLive: now.isLive, &rows)
      }
      last = now
      next = found.next
      if began >= sumsAt {
        sumsAt = began + .seconds(1)
        text += Self.message("sums", MonitorJSON.sums(try watch.sums(), streams: streams()))
      }
      if text.isEmpty, began >= writtenAt + Self.heartbeat { text = Array(":\n\n".utf8) }
      if !text.isEmpty {
        try await write(text)
        writtenAt = began
      }
      let end = began + Self.pace
      if ContinuousClock.now < end { try await Task.sleep(until: end, clock: .continuous) } else { await Task.yield() }
    }
  }

  /// Without a filter a page begins with the last events; a filter looks at all of them. A page that comes back goes on
  /// where it was, unless a power cut took that from the log.
  private func firstOffset(after last: Offset?) throws(WeirError) -> Offset {
    let end = try watch.log.tally(from: .max).nextOffset
    if let last, last <= end { return last }
    guard filter.isEmpty else { return 0 }
    return end - min(end, Offset(EventScan.maximumRows))
  }

  private func frame(
    _ found: EventScan.Found, _ changed: [(Offset, String)], isLive: Bool, _ rows: inout SentRows
  ) throws(WeirError) -> [UInt8] {
    let events = found.events.map { event in (event, watch.findings(of: event)) }
    for (event, findings) in events { rows.add(event.offset, MonitorJSON.letters(findings.states.map(\.state))) }
    let end = found.isAtEnd ? found.next : max(found.next, try watch.sums().statistics.nextOffset)
    var members: [(String, FieldValue)] = [
      ("rows", .array(events.map { MonitorJSON.row($0.0, $0.1) })),
      ("states", .array(changed.map { .array([.uint($0.0), .string($0.1)]) })),
      ("matched", .uint(found.matched)), ("looked", .uint(found.looked)), ("next", .uint(found.next)),
      ("end", .uint(end)), ("isLive", .bool(isLive)),
    ]
    if !found.skipped.isEmpty { members.append(("skipped", .array(found.skipped.map { .string($0) }))) }
    return Self.message("frame", .object(FieldObject(members)), id: found.next)
  }

  /// A message of server-sent events. JSON has no line breaks.
  private static func message(_ event: String, _ data: FieldValue, id: Offset? = nil) -> [UInt8] {
    Array("event: \(event)\n\(id.map { "id: \($0)\n" } ?? "")data: \(MonitorJSON.json(data))\n\n".utf8)
  }
}

/// The events of one stream whose states are followed, the last ones.
private struct SentRows {
  /// As many as a page keeps.
  private static let most = 5_000

  private var rows: [(offset: Offset, states: String?)]

  /// A page that comes back has events from before. Which ones match its filter does not matter: it knows them.
  init(before offset: Offset) {
    rows = (offset - min(offset, Offset(Self.most))..<offset).map { ($0, nil) }
  }

  mutating func add(_ offset: Offset, _ states: String) {
    rows.append((offset, states))
    if rows.count >= 2 * Self.most { rows.removeFirst(rows.count - Self.most) }
  }

  /// The page does not know the states of its rows any more.
  mutating func forgetStates() {
    for index in rows.indices { rows[index].states = nil }
  }

  /// The events whose states have changed, with their states, at most as many as a frame takes. The rest comes with
  /// the next change.
  mutating func changed(if isChanged: Bool, _ watch: LogWatch) -> [(Offset, String)] {
    guard isChanged else { return [] }
    var changed: [(Offset, String)] = []
    for index in rows.indices.suffix(Self.most) {
      let states = MonitorJSON.letters(watch.states(of: rows[index].offset))
      guard states != rows[index].states else { continue }
      rows[index].states = states
      changed.append((rows[index].offset, states))
    }
    return changed
  }
}

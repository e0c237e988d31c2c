// MonitorJSON: what the monitor sends, as JSON: see the page MonitorProtocol.

import Weir
import WeirDelivery
import WeirJSON

enum MonitorJSON {
  /// The maximum size of an event's values in a list, in bytes.
  static let valueBytes = 1024

  /// What one look found.
  static func frame(_ news: EventFeed.News) -> FieldValue {
    let found = news.found
    var members: [(String, FieldValue)] = [
      ("rows", .array(news.rows.map(row))),
      ("states", .array(news.changes.map { change($0.offset, $0.findings) })), ("looked", .uint(found.looked)),
      ("next", .uint(found.next)), ("end", .uint(news.end)), ("isLive", .bool(news.isLive)),
    ]
    if news.isCounted { members.append(("matched", .uint(found.matched))) }
    if news.isCut { members.append(("isCut", true)) }
    if !news.late.isEmpty { members.append(("late", .array(news.late.map(row)))) }
    if !news.gone.isEmpty {
      members.append(("gone", .array(news.gone.map { .array([.uint($0.lowerBound), .uint($0.upperBound)]) })))
    }
    if !found.skipped.isEmpty { members.append(("skipped", .array(found.skipped.map { .string($0) }))) }
    return .object(FieldObject(members))
  }

  /// An event in a list.
  static func row(_ row: EventFeed.Row) -> FieldValue {
    let (event, findings) = (row.event, row.findings)
    var members: [(String, FieldValue)] = [
      ("offset", .uint(event.offset)), ("id", .string(event.id.description)),
      ("time", .string(event.time.description)), ("name", .string(event.name)),
    ]
    if let kind = event.kind { members.append(("kind", .string(kind.rawValue))) }
    if let user = event.context.user { members.append(("user", .string(user.id.cut(to: valueBytes)))) }
    if let view = event.context.view { members.append(("view", .string(view.name.cut(to: valueBytes)))) }
    let (fields, isCut) = fields(event.fields)
    members.append(("fields", .array(fields)))
    if isCut { members.append(("cut", true)) }
    if !findings.flags.isEmpty { members.append(("flags", flags(findings))) }
    members.append(("states", .string(states(findings))))
    return .object(FieldObject(members))
  }

  private static func change(_ offset: Offset, _ findings: EventFindings) -> FieldValue {
    let change: [FieldValue] = [.uint(offset), .string(states(findings))]
    return .array(findings.flags.isEmpty ? change : change + [flags(findings)])
  }

  private static func flags(_ findings: EventFindings) -> FieldValue {
    .array(EventFlag.allCases.filter(findings.flags.contains).map { .string($0.rawValue) })
  }

  /// States as letters.
  private static func states(_ findings: EventFindings) -> String {
    String(decoding: findings.states.compactMap(\.state.rawValue.utf8.first), as: UTF8.self)
  }

  /// States and flags as letters, to find out whether they have changed.
  static func letters(_ findings: EventFindings) -> String {
    states(findings) + EventFlag.allCases.filter(findings.flags.contains).map { " \($0.rawValue)" }.joined()
  }

  /// Names and values as pairs of texts, and whether something was cut.
  private static func fields(_ fields: FieldObject) -> (pairs: [FieldValue], isCut: Bool) {
    var left = valueBytes
    var isCut = false
    var pairs: [FieldValue] = []
    for field in fields {
      guard left > 0 else { return (pairs, true) }
      let name = field.name.cut(to: left)
      let value = text(field.value, within: max(left - name.utf8.count, 16))
      isCut = isCut || value.isCut || name.utf8.count < field.name.utf8.count
      left -= name.utf8.count + value.text.utf8.count
      pairs.append(.array([.string(name), .string(value.text)] + (value.isCut ? [true] : [])))
    }
    return (pairs, isCut)
  }

  /// A value as a JSON text of about so many bytes. A long text is cut before it is written, which would take long.
  static func text(_ value: FieldValue, within limit: Int) -> (text: String, isCut: Bool) {
    var short = value
    if case .string(let text) = value, text.utf8.count > limit { short = .string(text.cut(to: limit) + "…") }
    if case .bytes(let bytes) = value, bytes.count > limit { short = .bytes(Array(bytes.prefix(limit))) }
    let text = json(short)
    // Nested values are written in full, and then cut.
    let isLong = text.utf8.count > limit * 2
    return (isLong ? text.cut(to: limit) + "…" : text, isLong || short != value)
  }

  /// The sums.
  static func sums(_ sums: LogSums, streams: Int) -> FieldValue {
    let statistics = sums.statistics
    var members: [(String, FieldValue)] = [
      ("time", .string(sums.time.description)), ("isLive", .bool(statistics.isLive)),
      ("isDamaged", .bool(statistics.isDamaged)), ("segments", .uint(statistics.segments)),
      ("bytes", .uint(statistics.totalBytes)), ("firstOffset", .uint(statistics.firstOffset)),
      ("nextOffset", .uint(statistics.nextOffset)), ("events", .uint(statistics.events)),
      ("laneEvents", .uint(statistics.laneEvents)), ("laneBytes", .uint(statistics.laneBytes)),
      ("laneCapacity", .uint(statistics.laneCapacity &* UInt64(statistics.lanes))),
      ("lanes", .int(Int64(statistics.lanes))), ("lanesInUse", .int(Int64(statistics.lanesInUse))),
      ("removed", .uint(statistics.removed)),
    ]
    let dropped = statistics.dropped.sorted { $0.key.name < $1.key.name }.map {
      ($0.key.name, FieldValue.uint($0.value))
    }
    members.append(("dropped", .object(FieldObject(dropped))))
    members.append(("rates", .array(sums.rates.map(rate))))
    members.append(("ledger", .array(sums.ledger.entries.map(entry))))
    if let error = sums.ledgerError { members.append(("ledgerError", .string(error))) }
    members.append(("recovery", .array(sums.recovery.map { .string($0) })))
    members.append(("scopes", .array(sums.scopes.map { .string($0) })))
    members.append(("threads", .array(sums.threads.map { .string($0) })))
    members.append(("streams", .int(Int64(streams))))
    members.append(("memory", ProcessMemory.bytes.map { .uint($0) } ?? .null))
    return .object(FieldObject(members))
  }

  private static func rate(_ rate: EventRates.Rate) -> FieldValue {
    .object([
      "name": rate.name.map { .string($0) } ?? .null, "total": .uint(rate.total),
      "counts": .array(rate.counts.map { .uint(UInt64($0)) }),
    ])
  }

  private static func entry(_ entry: Ledger.Entry) -> FieldValue {
    let lost = Ledger.LossReason.allCases.map { ($0.rawValue, FieldValue.uint(entry.lost[$0] ?? 0)) }
    let (state, reason): (String, String?) =
      switch entry.state {
      case .starting: ("starting", nil)
      case .running: ("running", nil)
      case .backingOff: ("backingOff", nil)
      case .open: ("open", nil)
      case .stopped(let reason): ("stopped", reason)
      case .idle: ("idle", nil)
      }
    return .object([
      "provider": .string(entry.provider), "accepted": .uint(entry.accepted), "acknowledged": .uint(entry.acknowledged),
      "rejected": .uint(entry.rejected), "pending": .uint(entry.pending), "lost": .object(FieldObject(lost)),
      "pendingSince": entry.pendingSince.map { .string($0.description) } ?? .null, "state": .string(state),
      "error": (reason ?? entry.error).map { .string($0) } ?? .null, "isBalanced": .bool(entry.isBalanced),
    ])
  }

  /// A value as JSON.
  static func json(_ value: FieldValue) -> String {
    var bytes: [UInt8] = []
    JSONText.append(value, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

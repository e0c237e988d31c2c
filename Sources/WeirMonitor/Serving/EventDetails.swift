// EventDetails: all that is known about one event.

import Foundation
import Weir
import WeirDelivery
import WeirJSON

/// One event, as the details show it: see the page MonitorProtocol.
struct EventDetails {
  let event: StoredEvent
  let raw: [UInt8]?
  let place: EventReader.Place
  let journey: Journey
  /// What each provider gets: the plan under which it was delivered to, and the text that is sent by the monitor's plan.
  let sent: [Sent]
  private let findings: EventFindings

  struct Sent {
    let provider: String
    var plan: String?
    var text: String?
  }

  typealias Preview = @Sendable (StoredEvent) -> [(provider: String, text: String)]

  /// Reads the event at an offset. Throws what ``LogDirectory/journey(at:showsSensitive:)`` throws.
  init(
    _ watch: LogWatch, _ offset: Offset, showsSensitive: Bool, preview: Preview? = nil
  ) throws(WeirError) {
    let log = watch.log
    journey = try log.journey(at: offset, showsSensitive: showsSensitive)
    guard let found = try EventReader(directory: log.path, from: offset).nextWithPlace(), found.event.offset == offset
    else { throw WeirError(.missing, "\(log.path) has no event at offset \(offset) any more", path: log.path) }
    event = journey.event
    _ = try watch.refresh()
    findings = watch.findings(of: event)
    place = found.place
    // The bytes would show what is replaced.
    let isShown = showsSensitive || found.event.stored.redacted() == found.event.stored
    raw = isShown ? withExtendedLifetime(found.event.block) { Array(found.event.payload) } : nil
    // A preview begins with the event as it was captured: the plan redacts, after its contract was checked.
    let previews = Dictionary(preview?(found.event.stored) ?? []) { first, _ in first }
    let names = Set(journey.outcomes.map(\.provider)).union(previews.keys).sorted()
    sent = names.map { name in
      Sent(provider: name, plan: (try? RecordedPlan(of: name, in: log.path))?.text, text: previews[name])
    }.filter { $0.plan != nil || $0.text != nil }
  }

  var json: FieldValue {
    var members: [(String, FieldValue)] = [
      ("offset", .uint(event.offset)), ("id", .string(event.id.description)), ("uuid", .uuid(event.id.uuid)),
      ("time", .string(event.time.description)), ("name", .string(event.name)),
    ]
    if let kind = event.kind { members.append(("kind", .string(kind.rawValue))) }
    if let user = event.context.user { members.append(("user", .string(user.id))) }
    if let view = event.context.view { members.append(("view", .string(view.name))) }
    members.append(("isNotice", .bool(event.isNotice)))
    let flags = EventFlag.allCases.filter(findings.flags.contains)
    members.append(("flags", .array(flags.map { .string($0.rawValue) })))
    members.append(("fields", .array(event.fields.map(field))))
    members.append(("context", .array(context)))
    members.append(("steps", .array(journey.steps.map(Self.step))))
    members.append(("outcomes", .array(journey.outcomes.map(Self.outcome))))
    members.append(("findings", .array(violations.map { .string($0) })))
    members.append(("sent", .array(sent.map(Self.sent))))
    members.append(("place", placeObject))
    if let raw { members.append(("raw", .string(raw.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()))) }
    members.append(("json", .string(exported)))
    members.append(("swift", .string(SwiftFixture.text(event))))
    members.append(("unread", .array(journey.unread.map { .string($0) })))
    return .object(FieldObject(members))
  }

  // MARK: Fields and context

  private func field(_ member: FieldObject.Member) -> FieldValue {
    let declared = event.declaration?.fields.first { $0.name == member.name }
    return .object([
      "name": .string(member.name), "type": .string(declared.map { "\($0.kind)" } ?? member.value.kindName),
      "value": member.value, "sensitive": .bool(declared?.isSensitive ?? false),
    ])
  }

  private var context: [FieldValue] {
    var parts: [FieldValue] = []
    func add(_ part: String, _ name: String, _ value: FieldValue) {
      parts.append(.object(["part": .string(part), "name": .string(name), "value": value]))
    }
    let context = event.context
    if let user = context.user {
      add("user", "id", .string(user.id))
      for trait in user.traits { add("user", trait.name, trait.value) }
    }
    if let view = context.view {
      add("view", "id", .string(view.id))
      add("view", "name", .string(view.name))
      if let parent = view.parent { add("view", "parent", .string(parent)) }
    }
    for member in context.fields { add("fields", member.name, member.value) }
    for member in context.globals { add("globals", member.name, member.value) }
    return parts
  }

  // MARK: The journey

  private static func step(_ step: Journey.Step) -> FieldValue {
    .object([
      "time": step.time.map { .string($0.description) } ?? .null,
      "provider": step.provider.map { .string($0) } ?? .null,
      "text": .string(step.what.description),
    ])
  }

  private static func outcome(_ outcome: Journey.Outcome) -> FieldValue {
    let flags = outcome.flags.map { flag -> FieldValue in
      guard case .array(let texts) = flag.value, !texts.isEmpty else { return .string(flag.name) }
      let words = texts.map { if case .string(let text) = $0 { text } else { "" } }
      return .string("\(flag.name): \(words.joined(separator: ", "))")
    }
    return .object([
      "provider": .string(outcome.provider), "fate": .string(outcome.fate.description), "flags": .array(flags),
    ])
  }

  private static func sent(_ sent: Sent) -> FieldValue {
    var members: [(String, FieldValue)] = [("provider", .string(sent.provider))]
    if let plan = sent.plan { members.append(("plan", .string(plan))) }
    if let text = sent.text { members.append(("text", .string(text))) }
    return .object(FieldObject(members))
  }

  private var violations: [String] {
    journey.steps.compactMap { if case .violated = $0.what { $0.what.description } else { nil } }
  }

  private var placeObject: FieldValue {
    .object([
      "file": .string(place.file), "block": place.block.map { .uint($0) } ?? .null,
      "bytes": raw.map { .int(Int64($0.count)) } ?? .null,
    ])
  }

  private var exported: String {
    var bytes: [UInt8] = []
    EventJSON().append(event, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

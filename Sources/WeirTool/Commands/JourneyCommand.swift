// JourneyCommand: `weir journey`: prints the journey of an event, from its capture to each provider.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirContracts
  import WeirDelivery
  import WeirJSON

  struct JourneyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "journey",
      abstract: "Print the journey of one event, from its capture to each provider.",
      discussion: """
        EVENT is an offset, as weir cat prints it, or an id: 32 hex digits, or the UUID \
        that weir cat --context prints. An offset is found at once. A log has no index \
        of ids: to find an id, the command reads the log up to the event, at about ten \
        million events a second.

        Changes nothing, and may run beside a live writer and live deliveries. Events \
        that a live delivery has settled, but not yet noted, show as pending for a \
        moment. The notes of attempts are bounded: the notes of old events may have \
        been removed. The outcome of the event is shown nevertheless.

        The values of sensitive fields are printed as "[redacted]". With \
        --show-sensitive, the values are printed as they are.

        Keys with --json: event (as weir export --format jsonl writes it), steps (an \
        array of objects with time, provider and step: captured (opening, lane), noted, \
        in_lane, drained (offset, file, batch), attempted (number, first, last, events, \
        bytes, seconds, result, answer), redriven (the same), withheld, rejected \
        (reason), violated (contract, version, field, rule, of the program's inspector), \
        settled), outcomes (provider, fate: acknowledged, rejected, withheld, pending or \
        before, the reason, and flags: the violations, defaulted fields and originals \
        that were found for the provider), unread (what could not be read). Keys without \
        a value are left out.

        Examples:
          weir journey events 4711
          weir journey events 5c1de2b7a09f43618000000000000123
          weir journey events 4711 --json | jq -c '.outcomes[]'
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Argument(help: "The event's offset or id.")
    var event: EventArgument

    @Flag(help: "Print one JSON object.")
    var json = false

    @Flag(help: "Print sensitive values as they are.")
    var showSensitive = false

    func run() throws {
      let log = LogDirectory(directory)
      let journey =
        switch event {
        case .offset(let offset): try log.journey(at: offset, showsSensitive: showSensitive)
        case .id(let id): try log.journey(of: id, showsSensitive: showSensitive)
        }
      try writeOutput(json ? JourneyReport.json(journey) : JourneyReport.text(journey))
    }
  }

  /// The event that the command line names.
  enum EventArgument: ExpressibleByArgument, Equatable {
    case offset(Offset)
    case id(EventID)

    init?(argument: String) {
      if let id = EventID(argument) ?? UUID(uuidString: argument).flatMap({ EventID($0) }) {
        self = .id(id)
      } else if let offset = Offset(argument), argument.utf8.first != UInt8(ascii: "+") {
        self = .offset(offset)
      } else {
        return nil
      }
    }
  }

  /// The printed form of a journey.
  enum JourneyReport {
    /// Returns the journey as lines for people.
    static func text(_ journey: Journey) -> String {
      var fields: [UInt8] = []
      EventFormat.appendText(journey.event.fields, to: &fields)
      var rows = [
        ("event", Terminal.name(journey.event.name) + String(decoding: fields, as: UTF8.self)),
        ("offset", "\(journey.offset)"), ("id", "\(journey.id)"),
      ]
      if let kind = journey.event.kind { rows.append(("kind", kind.rawValue)) }
      rows.append(("", ""))
      rows += journey.steps.map { step in
        let provider = step.provider.map { $0 + ": " } ?? ""
        return (step.time?.description ?? "-", provider + Terminal.printable(step.what.description))
      }
      if !journey.outcomes.isEmpty { rows.append(("", "")) }
      for outcome in journey.outcomes {
        rows.append((outcome.provider, Terminal.printable(outcome.fate.description)))
        rows += outcome.flags.map { (outcome.provider, Terminal.printable(text($0))) }
      }
      rows += journey.unread.map { ("unread", Terminal.printable($0)) }
      return Table.text(rows.map { (label: $0.0, value: $0.1) })
    }

    /// Returns a flag as text, such as `violations: currency: mandatory, total: minimum 0`.
    private static func text(_ flag: FieldObject.Member) -> String {
      guard case .array(let texts) = flag.value, !texts.isEmpty else { return flag.name }
      let words = texts.map { if case .string(let text) = $0 { text } else { "" } }
      return "\(flag.name): \(words.joined(separator: ", "))"
    }

    /// Returns the journey as one JSON object, on one line.
    static func json(_ journey: Journey) -> String {
      var bytes: [UInt8] = []
      JSONText.append(literal: "{\"event\":", to: &bytes)
      EventJSON().append(journey.event, to: &bytes)
      let rest: FieldObject = [
        "steps": .array(journey.steps.map { .object(object($0)) }),
        "outcomes": .array(journey.outcomes.map { .object(object($0)) }),
        "unread": .array(journey.unread.map { .string($0) }),
      ]
      EventJSON().append(members: rest, after: true, to: &bytes)
      JSONText.append(literal: "}\n", to: &bytes)
      return String(decoding: bytes, as: UTF8.self)
    }

    private static func object(_ step: Journey.Step) -> FieldObject {
      var members: [(String, FieldValue)] = []
      if let time = step.time { members.append(("time", .string(time.description))) }
      if let provider = step.provider { members.append(("provider", .string(provider))) }
      switch step.what {
      case .captured(let opening, let lane):
        let digits = String(opening, radix: 16)
        let text = String(repeating: "0", count: 16 - digits.count) + digits
        members += [("step", "captured"), ("opening", .string(text)), ("lane", .int(Int64(lane)))]
      case .noted: members.append(("step", "noted"))
      case .violated(let violation):
        members += [
          ("step", "violated"), ("contract", .string(violation.contract)), ("version", .string(violation.version)),
          ("field", .string(violation.field)), ("rule", .string(violation.rule)),
        ]
      case .inLane: members.append(("step", "in_lane"))
      case .drained(let offset, let file, let isBatch):
        members += [
          ("step", "drained"), ("offset", .uint(offset)), ("file", .string(file)), ("batch", .bool(isBatch)),
        ]
      case .attempted(let attempt): members += [("step", "attempted")] + object(attempt)
      case .redriven(let attempt): members += [("step", "redriven")] + object(attempt)
      case .withheld: members.append(("step", "withheld"))
      case .rejected(let reason): members += [("step", "rejected"), ("reason", .string(reason))]
      case .settled: members.append(("step", "settled"))
      }
      return FieldObject(members)
    }

    private static func object(_ attempt: Journey.Attempt) -> [(String, FieldValue)] {
      [
        ("number", .int(Int64(attempt.number))), ("first", .uint(attempt.first)),
        ("last", .uint(attempt.last)), ("events", .int(Int64(attempt.events))), ("bytes", .int(Int64(attempt.bytes))),
        ("seconds", .double(attempt.duration / .seconds(1))), ("result", .string(attempt.result.rawValue)),
        ("answer", .string(attempt.answer)),
      ]
    }

    private static func object(_ outcome: Journey.Outcome) -> FieldObject {
      let (fate, reason): (String, String?) =
        switch outcome.fate {
        case .acknowledged: ("acknowledged", nil)
        case .rejected(let reason): ("rejected", reason)
        case .withheld: ("withheld", nil)
        case .pending: ("pending", nil)
        case .before: ("before", nil)
        }
      let members: [(String, FieldValue)] = [("provider", .string(outcome.provider)), ("fate", .string(fate))]
      let flags: [(String, FieldValue)] = outcome.flags.isEmpty ? [] : [("flags", .object(outcome.flags))]
      return FieldObject(members + (reason.map { [("reason", .string($0))] } ?? []) + flags)
    }
  }
#endif

// TerminalRow: an event in the terminal's list.

#if Monitor
  import Weir
  import WeirDelivery
  import WeirJSON

  /// An event as a row shows it. Everything in it is safe for a terminal.
  struct TerminalRow {
    let offset: Offset
    let time: Timestamp
    let name: String
    let user: String
    let view: String
    let fields: String
    private(set) var flags: Set<EventFlag> = []
    private(set) var states: [DeliveryStates.State] = []

    /// The maximum size of a row's fields, in bytes of text.
    private static let fieldBytes = 512

    init(_ event: StoredEvent, _ findings: EventFindings) {
      offset = event.offset
      time = event.time
      name = ShownText.shown(event.name.cut(to: Self.fieldBytes))
      user = ShownText.shown(event.context.user?.id.cut(to: Self.fieldBytes) ?? "")
      view = ShownText.shown(event.context.view?.name.cut(to: Self.fieldBytes) ?? "")
      var text = ""
      for field in event.fields where text.utf8.count < Self.fieldBytes {
        text += (text.isEmpty ? "" : " ") + field.name.cut(to: Self.fieldBytes) + "="
        text += MonitorJSON.text(field.value, within: Self.fieldBytes).text
      }
      fields = ShownText.shown(text)
      take(findings)
    }

    /// The columns are those of other providers now.
    mutating func forgetStates() { states = [] }

    /// Takes the event's states and flags anew.
    mutating func take(_ findings: EventFindings) {
      flags = findings.flags
      states = findings.states.map(\.state)
    }
  }

  extension DeliveryStates.State {
    /// The state as one character.
    var symbol: String {
      switch self {
      case .pending: "○"
      case .given: "◐"
      case .acknowledged: "●"
      case .rejected: "✕"
      case .withheld: "–"
      case .before: "·"
      }
    }
  }

  extension EventFlag {
    /// The flag as one letter.
    var letter: String {
      switch self {
      case .violating: "V"
      case .defaulted: "D"
      case .duplicate: "2"
      case .gap: "G"
      }
    }
  }
#endif

// EventDetails, lines: one event as lines of text for a terminal.

#if Monitor
  import Weir
  import WeirDelivery

  extension EventDetails {
    /// The maximum number of raw bytes that are shown.
    private static let mostBytes = 4_096

    /// The lines, at most so many columns wide, safe for a terminal.
    func lines(width: Int) -> [String] {
      var lines: [String] = []
      func add(_ title: String, _ texts: [String]) {
        guard !texts.isEmpty else { return }
        lines += ["", title]
        for text in texts { lines += ShownText.wrapped("  " + ShownText.shown(text), to: width) }
      }
      lines += ShownText.wrapped(ShownText.shown(event.name), to: width)
      for text in ["offset \(event.offset), id \(event.id)", event.time.description] {
        lines += ShownText.wrapped(text, to: width)
      }
      if let kind = event.kind { lines.append(kind.rawValue) }
      add("Fields", event.fields.map { "\($0.name) = \(MonitorJSON.json($0.value))" })
      add("Context", contextTexts)
      add("Journey", journey.steps.map(\.description))
      add("Outcomes", journey.outcomes.map { "\($0.provider): \($0.fate)" })
      add("Not read", journey.unread)
      add("What each provider gets", sent.flatMap(Self.texts))
      add("Place", ["\(place.file)\(place.block.map { ", block at \($0)" } ?? "")"])
      add("Raw bytes", raw.map(Self.dump) ?? ["left out, because the event has sensitive values"])
      return lines
    }

    private static func texts(_ sent: Sent) -> [String] {
      [sent.plan.map { "\(sent.provider), by this plan: \($0)" }, sent.text.map { "\(sent.provider), is sent: \($0)" }]
        .compactMap(\.self)
    }

    private var contextTexts: [String] {
      let context = event.context
      var texts: [String] = []
      if let user = context.user {
        texts.append("user \(user.id)")
        texts += user.traits.map { "user.\($0.name) = \(MonitorJSON.json($0.value))" }
      }
      if let view = context.view { texts.append("view \(view.name) (\(view.id))") }
      texts += context.fields.map { "\($0.name) = \(MonitorJSON.json($0.value))" }
      texts += context.globals.map { "\($0.name) = \(MonitorJSON.json($0.value))" }
      return texts
    }

    /// Bytes as in a hex editor: position, 16 bytes, and what of them is ASCII.
    private static func dump(_ bytes: [UInt8]) -> [String] {
      let shown = bytes.prefix(mostBytes)
      let lines = stride(from: 0, to: shown.count, by: 16).map { start -> String in
        let row = shown[start..<min(start + 16, shown.count)]
        let digits = row.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
        let text = row.map { (0x20..<0x7f).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
        let position = String(start, radix: 16)
        return String(repeating: "0", count: max(0, 4 - position.count)) + position + "  "
          + digits.padded(to: 47) + "  " + text
      }
      return bytes.count > shown.count ? lines + ["and \(bytes.count - shown.count) bytes more"] : lines
    }
  }

  extension String {
    fileprivate func padded(to count: Int) -> String {
      utf8.count < count ? self + String(repeating: " ", count: count - utf8.count) : self
    }
  }
#endif

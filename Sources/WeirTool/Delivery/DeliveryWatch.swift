// DeliveryWatch.swift: what a delivery in progress shows: the progress line, and each trouble once.

import Weir

struct DeliveryWatch {
  private let progress: Progress?
  /// Settled events of the destinations when the delivery began.
  private let settledBefore: UInt64
  /// The trouble that was told last, by destination.
  private var told: [String: String] = [:]

  init(before: [Ledger.Entry], progress: Progress?) {
    self.progress = progress
    settledBefore = before.reduce(0) { $0 &+ Self.settled($1) }
  }

  /// Shows how far it is.
  mutating func show(_ entries: [Ledger.Entry]) {
    let settled = entries.reduce(0) { $0 &+ Self.settled($1) }
    let done = settled - min(settled, settledBefore)
    let pending = entries.reduce(0) { $0 &+ $1.pending }
    progress?.show(events: done, fraction: done | pending == 0 ? nil : Double(done) / (Double(done) + Double(pending)))
    for entry in entries { tell(entry) }
  }

  func end() { progress?.end() }

  private mutating func tell(_ entry: Ledger.Entry) {
    switch entry.state {
    // Told at the end, with what to do.
    case .stopped: return
    case .backingOff, .open:
      let text = Terminal.printable(entry.error ?? "the last try failed")
      guard told[entry.provider] != text else { return }
      told[entry.provider] = text
      writeDiagnostic("\(entry.provider): \(text); \(Quantity.count(entry.pending)) pending, trying again")
    case .starting, .running, .idle:
      if entry.error == nil, told.removeValue(forKey: entry.provider) != nil {
        writeDiagnostic("\(entry.provider): goes on")
      }
    }
  }

  private static func settled(_ entry: Ledger.Entry) -> UInt64 {
    entry.acknowledged &+ entry.rejected &+ entry.lostInAll
  }
}

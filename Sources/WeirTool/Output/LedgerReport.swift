// LedgerReport: the ledger's entry for one provider, as `weir stat` prints it.

#if Tool
  import Weir
  import WeirDelivery

  /// The keys of an object of the ledger in `weir stat --json`.
  struct LedgerReport: Encodable {
    var provider: String
    var from: UInt64
    var offset: UInt64
    var accepted: UInt64
    var acknowledged: UInt64
    var rejected: UInt64
    var pending: UInt64
    @Nullable var pendingSince: String?
    var lost: [String: UInt64]
    var balanced: Bool
    /// The reason, if the provider's last call stopped delivery; otherwise `nil`.
    @Nullable var stopped: String?
    /// The last rewind; `nil` if there was none.
    @Nullable var rewound: RewindReport?
    /// What an acknowledgement of the destination promises; `nil` if the destination does not say it.
    @Nullable var durability: String?

    init(_ entry: Ledger.Entry) {
      provider = entry.provider
      from = entry.from
      offset = entry.offset
      accepted = entry.accepted
      acknowledged = entry.acknowledged
      rejected = entry.rejected
      pending = entry.pending
      pendingSince = entry.pendingSince?.description
      lost = Dictionary(uniqueKeysWithValues: Ledger.LossReason.allCases.map { ($0.rawValue, entry.lost[$0] ?? 0) })
      balanced = entry.isBalanced
      rewound = entry.rewind.map { RewindReport(count: $0.count, from: $0.from, to: $0.to) }
      durability = entry.durability
      stopped = if case .stopped(let reason) = entry.state { reason } else { nil }
    }

    /// "6 acknowledged, 1 rejected, 3 pending since 2026-11-21T00:00:00.123456789Z, 0 lost of 10 accepted; stopped: 404
    /// Not Found".
    var text: String {
      let losses = lost.filter { $0.value > 0 }.sorted { $0.key < $1.key }
      let reasons = losses.map { "\($0.key): \(Quantity.count($0.value))" }.joined(separator: ", ")
      // The sum of the numbers in a forged cursor may overflow.
      let total = losses.reduce(0) { $0 &+ $1.value }
      var text = "\(Quantity.count(acknowledged)) acknowledged, \(Quantity.count(rejected)) rejected, "
      text += "\(Quantity.count(pending)) pending\(pendingSince.map { " since \($0)" } ?? ""), "
      text += "\(Quantity.count(total)) lost"
      text += (reasons.isEmpty ? "" : " (\(reasons))") + " of \(Quantity.count(accepted)) accepted"
      if !balanced { text += ": does not balance" }
      if let rewound { text += "; rewound from offset \(rewound.from) to \(rewound.to), and counted from there" }
      if let durability { text += "; acknowledged means \(Terminal.printable(durability))" }
      if let stopped { text += "; stopped: \(Terminal.printable(stopped))" }
      return text
    }
  }

  /// The keys of a rewind in `weir stat --json`.
  struct RewindReport: Encodable {
    /// How often the provider was rewound.
    var count: UInt64
    /// The first offset that was not settled before the last rewind.
    var from: UInt64
    /// The offset to which the provider was set back.
    var to: UInt64
  }
#endif

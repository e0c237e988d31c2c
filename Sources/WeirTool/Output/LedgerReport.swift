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
      stopped = if case .stopped(let reason) = entry.state { reason } else { nil }
    }

    /// "6 acknowledged, 1 rejected, 3 pending since 2026-11-21T00:00:00.123456789Z, 0 lost of 10 accepted; stopped: 404
    /// Not Found".
    var text: String {
      let losses = lost.filter { $0.value > 0 }.sorted { $0.key < $1.key }
      let reasons = losses.map { "\($0.key): \(Quantity.count($0.value))" }.joined(separator: ", ")
      // The sum of the numbers in a forged cursor may overflow.
      let total = losses.reduce(0) { $0 &+ $1.value }
      return "\(Quantity.count(acknowledged)) acknowledged, \(Quantity.count(rejected)) rejected, "
        + "\(Quantity.count(pending)) pending\(pendingSince.map { " since \($0)" } ?? ""), "
        + "\(Quantity.count(total)) lost"
        + (reasons.isEmpty ? "" : " (\(reasons))") + " of \(Quantity.count(accepted)) accepted"
        + (balanced ? "" : ": does not balance") + (stopped.map { "; stopped: \(Terminal.printable($0))" } ?? "")
    }
  }
#endif

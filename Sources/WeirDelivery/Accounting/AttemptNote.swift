// AttemptNote: converts a call of a provider to a note in the log of attempts.

import SwiftOverlayShims
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

extension Attempt {
  /// Creates the note of a call with this batch. `answer` is `nil` if the call was given up. `settlement` has the
  /// consequences.
  init(
    _ batch: [HeldEvent], _ answer: DeliveryAnswer?, _ settlement: Settlement, began: Timestamp, took: Duration
  ) {
    let (outcome, text) = Self.words(answer, settlement, count: batch.count)
    var number = 1
    var offsets: [Offset] = []
    offsets.reserveCapacity(batch.count)
    for index in batch.indices {
      number = max(number, batch[index].attempts)
      offsets.append(batch[index].offset)
    }
    self.init(
      number: number, offsets: offsets, bytes: batch.byteCount,
      began: began, took: took, outcome: outcome, answer: text,
      rejected: settlement.rejected.map(\.event.offset),
      retried: (settlement.retried.map(\.event) + settlement.batches.joined()).map(\.offset).sorted())
  }

  /// Creates a note that delivery stopped for this reason, without a call that returned this answer.
  init(stopped reason: String) {
    self.init(number: 1, offsets: [], bytes: 0, began: .now, took: .zero, outcome: .stopped, answer: reason)
  }

  private static func words(
    _ answer: DeliveryAnswer?, _ settlement: Settlement, count: Int
  ) -> (Outcome, String) {
    switch answer {
    case nil:
      switch settlement.health {
      case .failed(let reason, _), .cutShort(let reason): return (.cancelled, reason)
      case .answered, .stopped: return (.cancelled, "cancelled")
      }
    case .cutShort(let reason): return (.cancelled, reason)
    case .refused(let reason): return (.refused, reason)
    case .stopped(let reason): return (.stopped, reason)
    case .failed(let reason): return (.failed, reason)
    case .verdicts(let verdicts):
      if verdicts.count != count, case .failed(let reason, _) = settlement.health { return (.miscounted, reason) }
      var words = ["\(settlement.accepted.count) accepted"]
      if let first = settlement.rejected.first {
        words.append("\(settlement.rejected.count) rejected (\(first.reason))")
      }
      let again = settlement.retried.count + settlement.batches.reduce(0) { $0 + $1.count }
      if again > 0 { words.append("\(again) to be retried") }
      return (.verdicts, words.joined(separator: ", "))
    }
  }
}

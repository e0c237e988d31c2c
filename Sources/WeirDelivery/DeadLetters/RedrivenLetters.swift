// RedrivenLetters: what redrives made of a provider's dead letters.

package import Weir

/// How many dead letters of a provider redrives had accepted, and how many not, from the cursor in their directory.
///
/// The cursor of a redrive is moved after the fact, so a kill leaves letters that were accepted among ``others``, never
/// the other way round.
struct RedrivenLetters: Hashable, Sendable {
  /// Letters that the provider accepted.
  var accepted: UInt64 = 0
  /// Letters that it rejected again, that it was not given again yet, or that can't be read; a large one may count as
  /// several.
  var others: UInt64 = 0

  /// No letters.
  init() {}

  /// Those of the provider named so; nil if no redrive is noted.
  init?(of provider: String, in log: LogDirectory) {
    let path = DeadLetter.path(of: provider, in: log.path)
    do throws(WeirError) {
      guard case .position(let position) = try Cursor.read(provider, of: path), let counts = position.counts else {
        return nil
      }
      let tally = try LogDirectory(path).tally(from: position.offset)
      accepted = counts.acknowledged
      others = counts.rejected &+ counts.lostInAll &+ counts.baseline &+ tally.pending &+ tally.missing &+ tally.inHoles
    } catch {
      // Without letters there was no redrive; of what can't be read nobody knows.
      return nil
    }
  }

  /// Of so many events that the provider rejected, how many it accepted in a redrive: no more than are certain. A
  /// letter may be there twice, or be missing because somebody removed it.
  func redriven(of rejected: UInt64) -> UInt64 {
    min(accepted, rejected - min(others, rejected))
  }
}

extension Ledger.Entry {
  /// Counts what the provider accepted in a redrive as acknowledged.
  mutating func countRedriven(in log: LogDirectory) {
    guard rejected > 0, let letters = RedrivenLetters(of: provider, in: log) else { return }
    let redriven = letters.redriven(of: rejected)
    rejected -= redriven
    acknowledged &+= redriven
  }
}

/// Which dead letters of a provider a redrive had accepted, by their offsets in the log of letters.
package struct AcceptedLetters {
  private var ranges: [Range<Offset>] = []

  /// Those of the provider named so, in the log in `directory`. Where the notes of a redrive's calls are gone, its
  /// letters are among them only if it had all accepted.
  package init(of provider: String, in directory: String) {
    let path = DeadLetter.path(of: provider, in: directory)
    guard case .position(let position)? = try? Cursor.read(provider, of: path), let counts = position.counts,
      counts.acknowledged > 0
    else { return }
    if counts.rejected == 0, counts.lostInAll == 0, counts.from == 0 {
      ranges = [0..<position.offset]
      return
    }
    guard let reader = try? EventReader(directory: AttemptLog.path(in: path, provider: provider)) else { return }
    var found: [Range<Offset>] = []
    while let stored = try? reader.next() {
      guard case .attempt(let call)? = try? LoggedAttempt(stored) else { continue }
      found += call.accepted.map { $0.clamped(to: 0..<position.offset) }
    }
    ranges = Self.joined(found)
  }

  /// Whether the letter that ends at this offset was accepted.
  package func contains(_ offset: Offset) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= offset { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(offset)
  }

  private static func joined(_ found: [Range<Offset>]) -> [Range<Offset>] {
    var joined: [Range<Offset>] = []
    for range in found.sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
      if let last = joined.last, range.lowerBound <= last.upperBound {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    return joined
  }
}

extension LoggedAttempt.Call {
  /// The offsets that the provider accepted in this call, as far as that is known.
  fileprivate var accepted: [Range<Offset>] {
    guard outcome == Attempt.Outcome.verdicts.rawValue else { return [] }
    // Beyond the last range that was noted, nobody knows what else was rejected or is to be given again.
    var end = Offset.max
    for others in [rejected, retried] where !others.isComplete { end = min(end, others.ranges.last?.upperBound ?? 0) }
    let holes = (rejected.ranges + retried.ranges).sorted { $0.lowerBound < $1.lowerBound }
    return given.ranges.flatMap { given in
      var rest: [Range<Offset>] = []
      var from = given.lowerBound
      for hole in holes where hole.upperBound >= from && hole.lowerBound <= given.upperBound {
        if from < hole.lowerBound { rest.append(from..<hole.lowerBound) }
        from = Self.after(hole)
      }
      if from < Self.after(given) { rest.append(from..<Self.after(given)) }
      return rest.map { $0.clamped(to: 0..<end) }
    }
  }

  /// A note that somebody made up may name the last number there is.
  private static func after(_ range: ClosedRange<Offset>) -> Offset { max(range.upperBound &+ 1, range.upperBound) }
}

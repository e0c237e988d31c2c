// RedrivenLetters: the outcomes of the redrives of a provider's dead letters.

package import Weir

/// The numbers of a provider's dead letters that were accepted in redrives, and that were not, from the cursor in the
/// letters' directory.
///
/// The cursor of a redrive moves after the letters are settled. So after a kill, ``others`` may include letters that
/// were accepted, but ``accepted`` never includes letters that were not.
struct RedrivenLetters: Hashable, Sendable {
  /// The number of letters that the provider accepted.
  var accepted: UInt64 = 0
  /// The number of letters that the provider rejected again, that were not delivered again yet, or that can't be read.
  /// A large letter may count as several.
  var others: UInt64 = 0

  /// Creates an instance without letters.
  init() {}

  /// Reads the numbers of a provider. Returns `nil` if there was no redrive.
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
      // If there are no letters, there was no redrive. If the letters can't be read, the numbers are unknown.
      return nil
    }
  }

  /// Returns how many of these rejected events the provider accepted in a redrive. Counts only the certain ones: an
  /// event may have two letters, or somebody may have removed its letter.
  func redriven(of rejected: UInt64) -> UInt64 {
    min(accepted, rejected - min(others, rejected))
  }
}

extension Ledger.Entry {
  /// Counts events that the provider accepted in a redrive as acknowledged.
  mutating func countRedriven(in log: LogDirectory) {
    guard rejected > 0, let letters = RedrivenLetters(of: provider, in: log) else { return }
    let redriven = letters.redriven(of: rejected)
    rejected -= redriven
    acknowledged &+= redriven
  }
}

/// The dead letters of a provider that were accepted in a redrive, by their offsets in the dead-letter log.
package struct AcceptedLetters {
  private var ranges: [Range<Offset>] = []

  /// Reads the letters of a provider, in the log in `directory`. If the notes of a redrive's calls are gone, the
  /// redrive's letters are included only if all were accepted.
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

  /// Returns whether the letter that ends at this offset was accepted.
  package func contains(_ offset: Offset) -> Bool {
    let index = ranges.partitioningIndex { $0.upperBound > offset }
    return index < ranges.count && ranges[index].contains(offset)
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
  /// The offsets that the provider accepted in this call, as far as they are known.
  fileprivate var accepted: [Range<Offset>] {
    guard outcome == Attempt.Outcome.verdicts.rawValue else { return [] }
    // Beyond the last noted range, it is unknown which other events were rejected or retried.
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

  /// Returns the offset after the range. A forged note may name the largest offset.
  private static func after(_ range: ClosedRange<Offset>) -> Offset { max(range.upperBound &+ 1, range.upperBound) }
}

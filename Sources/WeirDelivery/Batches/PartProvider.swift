// PartProvider: a destination that takes parts of a log: messages of a broker.

package import Weir

/// A batch provider that takes parts of a log in memory, in place of sealed segments: the messages of a broker.
///
/// A part leaves once it is full, or at the signals of `FlushPolicy.triggers`, whether its segment is sealed or not. So
/// nothing is sealed for it, and events that another process writes do not wait for that process to seal them.
///
/// Parts are given in the order of their offsets. Those that are accepted before the first one that is not are settled;
/// the others come again, as the same parts or as others with the same events.
package protocol PartProvider: BatchProvider {
  /// The largest part, in bytes. An event that is larger by itself comes alone. Asked before each call, after `setup()`.
  var largestPart: Int { get }
  /// How many bytes one call of ``deliver(_:)-([LogPart])`` may have together. At least one part is given.
  var bytesAtOnce: Int { get }

  /// Delivers parts. Returns a verdict for each, in the same order. Throwing has the effect that it has for a segment.
  func deliver(_ parts: [LogPart]) async throws -> [Verdict]
}

extension PartProvider {
  package func deliver(_ segment: BatchSegment) async throws -> Verdict {
    throw DeliveryStopped("\(name) takes parts of a log, and no segments")
  }
}

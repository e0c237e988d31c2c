// OrderCheck: which matched events are out of order, however many they are.

import Weir

/// Two matched events, for the check of their order.
struct OrderedPair: BitwiseCopyable, Sendable {
  var sequence: UInt64
  var here: UInt64
  var there: UInt64
  var time: Int64
  var name: UInt64

  init(sequence: UInt64, here: UInt64, there: UInt64, mark: EventMark) {
    self.sequence = sequence
    self.here = here
    self.there = there
    time = mark.time
    name = UInt64(mark.name)
  }

  static func isBefore(_ one: OrderedPair, _ other: OrderedPair) -> Bool {
    (one.sequence, one.here) < (other.sequence, other.here)
  }
}

/// Finds the fewest pairs of each sequence without which the others rise on both sides.
///
/// A sequence is cut wherever all pairs before are before all pairs behind, on both sides: the pieces have nothing to
/// do with each other. So a sequence of any length takes little memory, as long as no event is far from its place.
///
/// A first pass, from the end, keeps the smallest place of what is behind each block of pairs. A second pass cuts.
struct OrderCheck {
  private let pairs: SortedRuns<OrderedPair>
  /// The maximum length of a piece. A longer one is cut: an event is then out of order if it has to move within the
  /// piece, or to another.
  private let mostPairs: Int
  private let blockPairs: Int
  /// For each block, from the first: the sequence and the smallest place there of the pairs of this sequence that are
  /// in the block's first place or behind.
  private var behind: [(sequence: UInt64, least: UInt64)] = []

  init(_ pairs: SortedRuns<OrderedPair>, mostPairs: Int, blockPairs: Int = 4_096) throws(WeirError) {
    self.pairs = pairs
    self.mostPairs = mostPairs
    self.blockPairs = blockPairs
    var index = pairs.count
    var (sequence, least) = (UInt64(0), UInt64.max)
    var blocks: [(UInt64, UInt64)] = []
    try pairs.scan(isReversed: true) { pair in
      index -= 1
      least = pair.sequence == sequence ? min(least, pair.there) : pair.there
      sequence = pair.sequence
      if index % blockPairs == 0 { blocks.append((sequence, least)) }
    }
    behind = blocks.reversed()
  }

  /// Passes each pair that is out of order to `body`.
  func forEachOutOfOrder(_ body: (OrderedPair) -> Void) throws(WeirError) {
    var block: [OrderedPair] = []
    var piece: [OrderedPair] = []
    var number = 0
    var highest: UInt64 = 0
    func take() {
      // The smallest place behind each pair of the block, within the sequence.
      var least = [UInt64](repeating: .max, count: block.count)
      number += 1
      var (sequence, next) = number < behind.count ? behind[number] : (0, .max)
      for index in block.indices.reversed() {
        if block[index].sequence != sequence { next = .max }
        sequence = block[index].sequence
        least[index] = next
        next = min(next, block[index].there)
      }
      for (pair, least) in zip(block, least) {
        if piece.isEmpty, pair.there < least { continue }
        highest = piece.isEmpty ? pair.there : max(highest, pair.there)
        piece.append(pair)
        guard highest < least || piece.count == mostPairs else { continue }
        for index in EventOrder.outOfOrder(piece.map(\.there)) { body(piece[index]) }
        piece.removeAll(keepingCapacity: true)
      }
      block.removeAll(keepingCapacity: true)
    }
    try pairs.scan { pair in
      block.append(pair)
      if block.count == blockPairs { take() }
    }
    if !block.isEmpty { take() }
  }
}

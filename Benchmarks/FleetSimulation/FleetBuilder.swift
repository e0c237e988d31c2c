// FleetBuilder: the messages of hosts that do not exist, by the rules by which real ones make theirs.

import Foundation
import Weir
import WeirFleet

/// An opening of a simulated log: which events its lanes have.
struct SimulatedOpening {
  let number: UInt64
  /// The offset of its first event.
  let start: Offset
  /// When the process began, in seconds.
  var begun = 0.0
}

/// Makes messages that are real in all but the bytes of their parts.
struct FleetBuilder {
  let lanes: UInt64
  private let template: PartMessage

  /// A record takes so many bytes of its lane.
  private static let recordBytes: UInt64 = 72

  init(lanes: Int) throws {
    self.lanes = UInt64(lanes)
    template = try PartMessage(headers: [
      "Weir-Part": "1", "Weir-Host": "host", "Weir-Log": "1", "Weir-Opening": "1", "Weir-Offsets": "0-0",
      "Weir-Follows": "0", "Weir-Start": "0", "Weir-Events": "1", "Weir-Pending": "0", "Weir-Sent": "0",
      "Weir-Version": "0.1.0",
    ])
  }

  /// The number of a host's log, or of an opening: as good as random, and another for each.
  static func id(_ host: Int, _ number: Int) -> UInt64 {
    var random = Seeded(seed: UInt64(host) << 24 | UInt64(number))
    return random.next()
  }

  static func name(_ host: Int) -> String { "host-\(host).region-\(host / 10_000).example" }

  /// The message with the events of an opening at some offsets. The events of an opening go to its lanes in turns.
  func message(host: Int, name: String, log: UInt64, opening: SimulatedOpening, offsets: Range<Offset>) -> PartMessage {
    var message = template
    message.host = name
    message.logID = log
    message.opening = opening.number
    message.offsets = offsets
    message.follows = offsets.lowerBound
    message.events = UInt64(offsets.count)
    let (from, to) = (offsets.lowerBound - opening.start, offsets.upperBound - opening.start)
    var spans: [LaneSpan] = []
    spans.reserveCapacity(Int(lanes))
    for lane in 0..<lanes {
      let (first, end) = ((from + lanes - 1 - lane) / lanes, (to + lanes - 1 - lane) / lanes)
      guard first < end else { continue }
      spans.append(LaneSpan(lane: UInt32(lane), positions: first * Self.recordBytes..<end * Self.recordBytes))
    }
    message.lanes = spans
    return message
  }
}

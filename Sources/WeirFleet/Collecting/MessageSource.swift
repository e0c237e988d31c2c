// MessageSource: what a broker's client does to read messages.

import Weir

/// A message as a broker gives it.
package struct ReceivedMessage: Sendable {
  /// The stream or the partition.
  package var source: String
  /// The message's place there. Positions rise.
  package var position: UInt64
  package var headers: [String: String]
  package var body: [UInt8]
  /// When the broker got the message, in nanoseconds since 1970; 0 if that is not known.
  package var time: Int64

  package init(source: String, position: UInt64, headers: [String: String], body: [UInt8], time: Int64 = 0) {
    (self.source, self.position, self.headers, self.body) = (source, position, headers, body)
    self.time = time
  }
}

/// Where to read a source on.
package struct ReadPlace: Hashable, Sendable {
  /// The position of the next message.
  package var next: UInt64
  /// The last message that was read, and when the broker got that; `nil` if the broker did not say. A source with another
  /// message there has lost its end, and grown again.
  package var last: Last?

  package struct Last: Hashable, Sendable {
    package var position: UInt64
    /// In nanoseconds since 1970.
    package var time: Int64
  }

  package init(next: UInt64, last: Last? = nil) { (self.next, self.last) = (next, last) }
}

/// What a source has next.
package enum SourceNews: Sendable {
  case message(ReceivedMessage)
  /// The broker has no messages any more at these positions, which were not read.
  case gone(source: String, positions: Range<UInt64>)
  /// The broker has lost the end of a source that was read, and uses the positions from this one on again.
  case restarted(source: String, at: UInt64)
  /// There was nothing in the time.
  case nothing
}

/// A broker's client to read with. Belongs to one thread, which its calls block.
package protocol MessageSource: AnyObject {
  /// What is read, for people: without keys.
  var description: String { get }
  /// Replicas of a source may differ in what came within this time. What came then is read again after each break.
  var settlingTime: Duration { get }
  /// The number of messages that the broker has behind the last one that was given, as far as the broker says it.
  var behind: UInt64? { get }
  /// Connects, and begins to read each source at a place; a source without a place at its beginning. Throws
  /// `DeliveryStopped` for what nobody but a person can repair, and other errors for what may pass.
  func open(from place: (String) -> ReadPlace?) throws
  /// Gives the next message, and waits so long for it. After an error the source must be opened again.
  func next(within time: Duration) throws -> SourceNews
  func close()
}

extension MessageSource {
  package var settlingTime: Duration { .zero }
}

// MessageSender: what a broker's client does to send messages.

import Weir

/// A message to a broker.
package struct OutgoingMessage: Sendable {
  /// The sender's host and the opening, or whatever else keeps messages in one order: the end of a subject, or a key.
  package var place: [String]
  /// The message's id, which is the same for each try. A broker may drop a repetition by the id; a collector drops
  /// repetitions by their positions.
  package var id: String
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]

  package init(place: [String], id: String, headers: [(name: String, value: String)], body: [UInt8]) {
    (self.place, self.id, self.headers, self.body) = (place, id, headers, body)
  }
}

/// What became of a message.
package enum SendOutcome: Hashable, Sendable {
  /// The broker has acknowledged the message.
  case stored
  /// The broker takes no message that large.
  case tooLarge(String)
  /// The broker has not acknowledged the message, for whatever reason. It may have stored the message.
  case failed(String)
}

/// What a broker says of itself.
package struct BrokerTerms: Hashable, Sendable {
  /// The largest message, headers included, in bytes.
  package var largestMessage: Int
  /// What an acknowledgement promises, in words.
  package var durability: String

  package init(largestMessage: Int, durability: String) {
    (self.largestMessage, self.durability) = (largestMessage, durability)
  }
}

/// A broker's client to send with. The calls block, on a thread of the actor's own.
package protocol MessageSender: Actor {
  /// Connects if there is no connection, and asks the broker for its terms. Throws `DeliveryStopped` for what nobody but
  /// a person can repair, and other errors for what may pass.
  func connect() throws -> BrokerTerms
  /// Sends messages, in their order, and waits for the acknowledgements. Returns one outcome for each message. Throws as
  /// ``connect()`` if no message was sent. Returns early if the task is cancelled.
  func send(_ messages: [OutgoingMessage]) throws -> [SendOutcome]
  func disconnect()
}

/// An error of a broker that may pass.
package struct BrokerFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

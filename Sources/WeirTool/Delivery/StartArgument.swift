// StartArgument: where a delivery without a cursor begins, as a command-line argument.

#if Tool
  import ArgumentParser
  import Weir
  import WeirDelivery

  struct StartArgument: CustomStringConvertible, Sendable {
    var position: DeliveryOptions.Start
    /// The argument as given.
    let description: String

    static let beginning = StartArgument(position: .beginning, description: "beginning")

    private init(position: DeliveryOptions.Start, description: String) {
      self.position = position
      self.description = description
    }

    init(parsing text: String) throws(ValidationError) {
      let position: DeliveryOptions.Start
      if let known = DeliveryOptions.Start(text: text) {
        position = known
      } else if let instant = Instant(argument: text) {
        position = .time(instant.timestamp)
      } else {
        throw ValidationError("give beginning, end, offset:N, or a time such as 2026-11-21T09:30:00Z")
      }
      self.init(position: position, description: text)
    }
  }
#endif

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
      switch text {
      case "beginning": position = .beginning
      case "end": position = .end
      default:
        guard let instant = Instant(argument: text) else {
          throw ValidationError("give beginning, end, or a time such as 2026-11-21T09:30:00Z")
        }
        position = .time(instant.timestamp)
      }
      self.init(position: position, description: text)
    }
  }
#endif

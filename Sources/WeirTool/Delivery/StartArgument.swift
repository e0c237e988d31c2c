// StartArgument.swift: where a delivery without a cursor begins, as a command-line argument.

import ArgumentParser
import Weir

struct StartArgument: ExpressibleByArgument, Sendable {
  var position: StartPosition

  init(_ position: StartPosition) {
    self.position = position
  }

  init?(argument: String) {
    switch argument {
    case "beginning": position = .beginning
    case "end": position = .end
    default:
      guard let instant = Instant(argument: argument) else { return nil }
      position = .time(instant.timestamp)
    }
  }
}

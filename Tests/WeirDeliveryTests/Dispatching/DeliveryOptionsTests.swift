// Options of delivery at, below and above their limits: refused with the name of the option and its value.

import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct DeliveryOptionsTests {
  /// Sets one option at the edge of what makes sense, or beyond it.
  struct Edge: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let value: String
    let isRight: Bool
    let change: @Sendable (inout DeliveryOptions) -> Void

    init(
      _ option: String, _ value: String, isRight: Bool, _ change: @escaping @Sendable (inout DeliveryOptions) -> Void
    ) {
      testDescription = option
      self.value = value
      self.isRight = isRight
      self.change = change
    }
  }

  static let edges: [Edge] = [
    Edge("flush.queueLimit", "0", isRight: false) { $0.flush.queueLimit = 0 },
    Edge("flush.queueLimit", "1", isRight: true) { $0.flush.queueLimit = 1 },
    Edge("flush.queueLimit", "-5", isRight: false) { $0.flush.queueLimit = -5 },
    Edge("flush.deliverySize", "0", isRight: false) { $0.flush.deliverySize = 0 },
    Edge("flush.deliverySize", "1", isRight: true) { $0.flush.deliverySize = 1 },
    Edge("flush.interval", "-1e-09 seconds", isRight: false) { $0.flush.interval = .nanoseconds(-1) },
    Edge("flush.interval", "0.0 seconds", isRight: true) { $0.flush.interval = .zero },
    Edge("flush.interval", "long", isRight: true) { $0.flush.interval = .seconds(Int64.max) },
    Edge("flush.firstEvents", "-1", isRight: false) { $0.flush.firstEvents = -1 },
    Edge("flush.firstEvents", "0", isRight: true) { $0.flush.firstEvents = 0 },
    Edge("flush.idleAfter", "-1.0 seconds", isRight: false) { $0.flush.idleAfter = .seconds(-1) },
    Edge("flush.overflowThreshold", "0.0", isRight: false) { $0.flush.overflowThreshold = 0 },
    Edge("flush.overflowThreshold", "1.1", isRight: false) { $0.flush.overflowThreshold = 1.1 },
    Edge("flush.overflowThreshold", "nan", isRight: false) { $0.flush.overflowThreshold = .nan },
    Edge("flush.overflowThreshold", "1.0", isRight: true) { $0.flush.overflowThreshold = 1 },
    Edge("flush.maximumEvents", "0", isRight: false) { $0.flush.maximumEvents = 0 },
    Edge("flush.maximumBytes", "0", isRight: false) { $0.flush.maximumBytes = 0 },
    Edge("flush.triggers", "4096", isRight: false) { $0.flush.triggers = FlushPolicy.Triggers(rawValue: 1 << 12) },
    Edge("flush.triggers", "none", isRight: true) { $0.flush.triggers = [] },
    Edge("backoff.least", "-1.0 seconds", isRight: false) { $0.backoff.least = .seconds(-1) },
    Edge("backoff.most", "0.4 seconds", isRight: false) { $0.backoff.most = .milliseconds(400) },
    Edge("backoff.most", "0.5 seconds", isRight: true) { $0.backoff.most = .milliseconds(500) },
    Edge("backoff.failures", "0", isRight: false) { $0.backoff.failures = 0 },
    Edge("backoff.openFor", "-1.0 seconds", isRight: false) { $0.backoff.openFor = .seconds(-1) },
    Edge("backoff.probeEvents", "0", isRight: false) { $0.backoff.probeEvents = 0 },
    Edge("duplicateWindow", "-1.0 seconds", isRight: false) { $0.duplicateWindow = .seconds(-1) },
    Edge("duplicateWindow", "none", isRight: true) { $0.duplicateWindow = nil },
    Edge("duplicateMemory", "0", isRight: false) { $0.duplicateMemory = 0 },
    Edge("duplicateMemory", "1", isRight: true) { $0.duplicateMemory = 1 },
    Edge("attemptTimeout", "0.0 seconds", isRight: false) { $0.attemptTimeout = .zero },
  ]

  @Test(arguments: edges)
  func `an option out of range is refused by its name`(_ edge: Edge) throws {
    var options = DeliveryOptions()
    try options.validate(for: "shop")
    edge.change(&options)
    if edge.isRight { return try options.validate(for: "shop") }
    let error = #expect(throws: WeirError.self) { try options.validate(for: "shop") }
    #expect(error?.code == .invalid)
    let start = "the delivery options of shop: \(edge.testDescription) is \(edge.value); it must be "
    #expect(error?.message.hasPrefix(start) == true, "\(error?.message ?? "")")
  }

  @Test func `the standard triggers are all but two`() {
    #expect(FlushPolicy.Triggers.standard == FlushPolicy.Triggers.all.subtracting([.idle, .firstEvents]))
    #expect(FlushPolicy.Triggers.all.rawValue == 1 << 12 - 1)
  }
}

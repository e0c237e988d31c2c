// BindingRows.swift: bindings around nothing, with other values at each call.
import Foundation
import Weir

/// Times calls, burst by burst.
struct Bursts {
  let bursts: Int
  let calls: Int

  func median(_ subject: String, _ call: (Int) -> Void) -> Row {
    var times: [Double] = []
    for burst in 0..<bursts {
      let start = ContinuousClock.now
      for number in 0..<calls { call(burst &* calls &+ number) }
      times.append((ContinuousClock.now - start) / .nanoseconds(1) / Double(calls))
    }
    return Row(subject: subject, nanoseconds: times.sorted()[bursts / 2])
  }
}

func bindingRows(_ bursts: Bursts) -> [Row] {
  let users = (0..<1024).map { "user-\(100_000 + $0)" }
  let requests = requestIDs()
  func bindAll(_ number: Int) {
    Bindings.with(
      user: users[number & 1023], fields: ["request": .string(requests[number & 1023])], view: "/checkout"
    ) {}
  }
  return [
    bursts.median("binding a user") { Bindings.with(user: users[$0 & 1023]) {} },
    bursts.median("binding fields") { Bindings.with(fields: ["request": .string(requests[$0 & 1023])]) {} },
    bursts.median("binding a view") { _ in Bindings.with(view: "/checkout") {} },
    bursts.median("binding user, fields and view", bindAll),
    Bindings.with(view: "/outer") { bursts.median("the same inside of another view", bindAll) },
  ]
}

func requestIDs() -> [String] { (0..<1024).map { "req-\(UUID().uuidString)-\($0)" } }

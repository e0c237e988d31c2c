// InspectorRows.swift: the processor time of the thread that checks events against a contract.
import Foundation
import Weir
import WeirContracts

/// Nanoseconds of processor time an event. With bindings, 1.25 events have the same user, field and view.
func inspectorNanoseconds(in folder: String, events: Int, isBound: Bool) throws -> Double {
  var configuration = Tracker.Configuration()
  configuration.logger = nil
  configuration.whenFull = .block
  let tracker = try Tracker(directory: folder, configuration: configuration)
  let inspector = try Inspector(tracker, contract: Checkout.contract)
  let requests = requestIDs()
  let before = processorNanoseconds(ofThread: "weir-inspect")
  for number in 1...events {
    let isAccepted =
      isBound
      ? Bindings.with(
        user: "user-\(number % 5000)", fields: ["request": .string(requests[number & 1023])], view: "/checkout"
      ) { tracker.track(Checkout(UInt64(number))).isAccepted }
      : tracker.track(Checkout(UInt64(number))).isAccepted
    guard isAccepted else { throw BenchFailure(description: "an event was refused") }
  }
  let counts = try inspector.inspect()
  let taken = processorNanoseconds(ofThread: "weir-inspect") - before
  guard counts.inspected == UInt64(events), counts.violating == 0, taken > 0 else {
    throw BenchFailure(description: "not all events were found clean by a thread of that name: \(counts)")
  }
  withExtendedLifetime(inspector) {}
  try tracker.close()
  return taken / Double(events)
}

/// Processor time so far of the process's threads whose name begins with `name`.
private func processorNanoseconds(ofThread name: String) -> Double {
  let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
  return tasks.reduce(0) { sum, task in
    func contents(_ file: String) -> String {
      (try? String(contentsOfFile: "/proc/self/task/\(task)/\(file)", encoding: .utf8)) ?? ""
    }
    guard contents("comm").hasPrefix(name) else { return sum }
    return sum + (contents("schedstat").split(separator: " ").first.flatMap { Double($0) } ?? 0)
  }
}

struct BenchFailure: Error, CustomStringConvertible {
  let description: String
}

// HTTP.swift: delivery over HTTP on loopback, by the tool to the tool: from the log's first event to the last cursor,
// the start of the process in it. Beside it the same bytes through one connection with nothing else to do.
import Foundation
import Weir
import WeirDelivery

func measureHTTP(_ log: SampleLog, in folder: URL, tool: String, rounds: Int) async throws -> [Row] {
  let presets = ["json", "segment"]
  var rows = presets.map { preset in
    Row(
      name: "HTTP on loopback, \(preset)", batch: 5_000, seconds: [], limitName: "the same bytes through a socket",
      events: log.count, bytes: log.json.count)
  }
  for round in 0..<rounds {
    let limit = try sendOverLoopback(log.json)
    for (index, preset) in presets.enumerated() {
      let collected = folder.appending(path: "collected-\(preset)-\(round)")
      let collector = try Child(tool, ["collect", collected.path, "--port", "0"])
      let address = try collector.firstLine().replacing("listening on ", with: "")
      let taken = try seconds {
        let delivery = try Child(
          tool,
          [
            "deliver", log.directory, "--to", preset == "json" ? address + "/events" : address, "--preset", preset,
            "--name", "\(preset)-\(round)",
          ])
        guard delivery.end() == 0 else { throw BenchFailure(description: "weir deliver failed; see above") }
      }
      collector.interrupt()
      let events = try LogDirectory(collected.path).statistics().events
      guard events == UInt64(log.count) else {
        throw BenchFailure(description: "\(events) of \(log.count) events were collected")
      }
      try FileManager.default.removeItem(at: collected)
      rows[index].seconds.append(taken)
      rows[index].limit.append(limit)
    }
  }
  return rows
}

/// A run of the tool. What it says of itself goes to where this program's errors go.
private final class Child {
  private let process = Process()
  private let output = Pipe()

  init(_ tool: String, _ arguments: [String]) throws {
    process.executableURL = URL(filePath: tool)
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
  }

  func firstLine() throws -> String {
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let end = line.firstIndex(of: "\n") else { throw BenchFailure(description: "weir collect does not listen") }
    return String(line[..<end])
  }

  func end() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }

  func interrupt() {
    process.interrupt()
    process.waitUntilExit()
  }
}

/// Seconds that the bytes take from one thread to another through a TCP connection on loopback.
private func sendOverLoopback(_ bytes: [UInt8]) throws -> Double {
  let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  let sender = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer {
    close(listener)
    close(sender)
  }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let isConnected = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
        && connect(sender, $0, length) == 0
    }
  }
  let receiver = accept(listener, nil, nil)
  guard isConnected, receiver >= 0 else { throw BenchFailure(description: "no connection on loopback: errno \(errno)") }
  let total = bytes.count
  let isReceived = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    var left = total
    while left > 0 {
      let count = read(receiver, &buffer, buffer.count)
      if count <= 0 { break }
      left -= count
    }
    close(receiver)
    isReceived.signal()
  }
  return try seconds {
    var sent = 0
    while sent < total {
      let count = bytes.withUnsafeBytes { write(sender, $0.baseAddress! + sent, min(1 << 18, total - sent)) }
      guard count > 0 else { throw BenchFailure(description: "loopback can't be written: errno \(errno)") }
      sent += count
    }
    isReceived.wait()
  }
}

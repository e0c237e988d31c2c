// StateSize: what a collector's state takes in memory, in time and in its file, by the number of hosts and of openings.

import Foundation
import Weir
import WeirFleet

/// A state that is really built, and measured in a process that does nothing else.
struct StateSize: Codable {
  var hosts: Int
  var openings: Int
  var lanes: Int
  var stateBytes = 0.0
  /// For a message of a host that is drawn at random: what a collector does with the state.
  var messageSeconds = 0.0
  var fileBytes = 0.0
  var writeSeconds = 0.0
  /// The memory that writing takes besides.
  var writeBytes = 0.0
  var readSeconds = 0.0
  /// To encode the status of all logs.
  var statusSeconds = 0.0
  var statusBytes = 0.0

  var bytesAHost: Double { stateBytes / Double(hosts) }
  var bytesAnOpening: Double { stateBytes / Double(hosts * openings) }

  private static let eventsAPart: Offset = 100
  private static let measured = 200_000

  /// Builds the state in a child, so that nothing else is in its memory.
  static func measured(hosts: Int, openings: Int, lanes: Int, seed: UInt64, in folder: String) throws -> StateSize {
    let text = try Machine.child([
      "--state", "\(hosts),\(openings),\(lanes)", "--seed", "\(seed)", "--directory", folder,
    ])
    return try JSONDecoder().decode(StateSize.self, from: Data(text.utf8))
  }

  init(building hosts: Int, openings: Int, lanes: Int, seed: UInt64, in directory: String) throws {
    (self.hosts, self.openings, self.lanes) = (hosts, openings, lanes)
    let builder = try FleetBuilder(lanes: lanes)
    var random = Seeded(seed: seed)
    let order = (0..<hosts).shuffled(using: &random)
    let before = Machine.memory()
    var content = FleetStateFile.Content()
    for opening in 0..<openings {
      for host in order {
        let message = Self.message(builder, host, opening, part: 0)
        content.state.collected(message)
        content.state.count(Self.eventsAPart, ofLog: message.logID)
      }
    }
    stateBytes = Machine.memory() - before - Double(hosts * MemoryLayout<Int>.stride)
    measureMessages(builder, &content.state, &random)
    try measureFile(content, in: directory)
    try measureStatus()
  }

  private static func message(_ builder: FleetBuilder, _ host: Int, _ opening: Int, part: Int) -> PartMessage {
    let start = Offset(opening) * 1_000_000
    let from = start + Offset(part) * eventsAPart
    return builder.message(
      host: host, name: FleetBuilder.name(host), log: FleetBuilder.id(host, 0),
      opening: SimulatedOpening(number: FleetBuilder.id(host, opening + 1), start: start),
      offsets: from..<from + eventsAPart)
  }

  /// Messages that follow on those that came, of hosts in no order: so nothing of a host is in the processor's caches.
  private mutating func measureMessages(_ builder: FleetBuilder, _ state: inout FleetState, _ random: inout Seeded) {
    var parts = [Int](repeating: 1, count: hosts)
    let messages = (0..<Self.measured).map { _ in
      let host = Int.random(in: 0..<hosts, using: &random)
      defer { parts[host] += 1 }
      return Self.message(builder, host, openings - 1, part: parts[host])
    }
    var known = 0
    messageSeconds =
      seconds {
        for message in messages {
          guard state.standing(of: message) != .known else { continue }
          known += state.known(in: message).count
          state.collected(message)
          state.count(message.events, ofLog: message.logID)
        }
      } / Double(messages.count)
    precondition(known == 0, "no message came twice")
  }

  private mutating func measureFile(_ content: FleetStateFile.Content, in directory: String) throws {
    let file = try FleetStateFile(in: directory)
    let most = Machine.memory("VmHWM")
    writeSeconds = try seconds { try file.write(content) }
    writeBytes = max(0, Machine.memory("VmHWM") - most)
    var status = stat()
    guard stat(directory + "/collected", &status) == 0 else { throw SimulationFailure("no summary was written") }
    fileBytes = Double(status.st_size)
    var read: FleetStateFile.Content?
    readSeconds = try seconds { read = try file.read() }
    guard read == content else { throw SimulationFailure("the summary is not what was written") }
  }

  private mutating func measureStatus() throws {
    let row = """
      {"host":"host","log":"0123456789abcdef","opening":"0123456789abcdef","openings":30,"events":864000,
      "bytes":22000000,"next":864000,"missing":0,"pending":12,"lastEvent":1790000000000000000,
      "taken":1790000000000000000,"version":"0.1.0"}
      """
    let sample = try JSONDecoder().decode(FleetStatus.Row.self, from: Data(row.utf8))
    var status = FleetStatus()
    status.rows = (0..<hosts).map { host in
      var row = sample
      row.host = FleetBuilder.name(host)
      return row
    }
    statusSeconds = try seconds { statusBytes = Double(try JSONEncoder().encode(status).count) }
  }
}

enum StateSizes {
  /// How far a state that was built may be from what smaller ones let expect.
  static let tolerance = 0.25

  static func table(_ sizes: [StateSize]) -> Table {
    var table = Table(
      "state", "The collector's state, built for so many hosts",
      [
        "hosts", "openings", "lanes", "MB", "bytes/host", "bytes/opening", "ns/message", "file MB", "write s",
        "write MB", "read s", "status MB", "status s",
      ])
    for size in sizes {
      table.rows.append([
        .count(size.hosts), .count(size.openings), .count(size.lanes), .number(size.stateBytes / 1e6, 1),
        .number(size.bytesAHost, 0), .number(size.bytesAnOpening, 0), .number(size.messageSeconds * 1e9, 0),
        .number(size.fileBytes / 1e6, 1), .number(size.writeSeconds, 2), .number(size.writeBytes / 1e6, 0),
        .number(size.readSeconds, 2), .number(size.statusBytes / 1e6, 1),
        .number(size.statusSeconds, 2),
      ])
    }
    return table
  }

  /// Holds the bytes of each state against what the ones with at most a tenth of its hosts let expect, and throws if one
  /// is too far away.
  static func check(_ sizes: [StateSize]) throws -> Table {
    var table = Table(
      "linear", "What smaller states let expect, beside what was built",
      ["hosts", "expected MB", "built MB", "built/expected"])
    for size in sizes where size.hosts >= 100_000 {
      let smaller = sizes.filter { $0.hosts * 10 <= size.hosts && $0.openings == size.openings && $0.hosts >= 10_000 }
      guard !smaller.isEmpty else { continue }
      let expected = smaller.map(\.bytesAHost).reduce(0, +) / Double(smaller.count) * Double(size.hosts)
      let ratio = size.stateBytes / expected
      table.rows.append([
        .count(size.hosts), .number(expected / 1e6, 1), .number(size.stateBytes / 1e6, 1), .number(ratio, 2),
      ])
      guard abs(ratio - 1) <= tolerance else {
        throw SimulationFailure(
          "the state of \(size.hosts) hosts is \(ratio) times as large as smaller ones let expect")
      }
    }
    return table
  }
}

// Command: the command. `FleetSimulation --help` says what it takes.

import Foundation
import WeirFleet

/// What the command line says.
struct Options {
  static let help = """
    USAGE: FleetSimulation [--quick] [--only PART,…] [--hosts N] [--lanes N] [--seed N] [--directory DIR]
                           [--results FILE] [--commit NAME]

    What a fleet of up to a million hosts takes, from real logs, parts, states and collectors, and from regions that run
    by a virtual clock. Prints tables. Exits with 1 if an event of a simulated region is missing or comes twice, or if
    the memory of a state is not what smaller ones let expect.

      --only PART,…     of: parts, state, commit, waiting, region, tiers
      --hosts N         hosts of a simulated region (10000)
      --lanes N         lanes of a log that captures (4)
      --seed N          of all that is random; WEIR_SEED does the same. Printed. The times that a region goes by are
                        measured before, so that runs with one seed still differ a little
      --directory DIR   for the files, which are removed afterwards (the temporary folder)
      --results FILE    for a line of JSON for each row; replaced
      --commit NAME     is printed, for whoever keeps the output
      --quick           smaller states, fewer scenarios
    """
  static let parts = ["parts", "state", "commit", "waiting", "region", "tiers"]

  var isQuick = false
  var only = Set(parts)
  var hosts = 10_000
  var lanes = 4
  var seed = ProcessInfo.processInfo.environment["WEIR_SEED"].flatMap(UInt64.init)
  var directory = FileManager.default.temporaryDirectory.path
  var results: String?
  var commit: String?
  /// Of a child: the state to build.
  var state: [Int]?

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    func number(_ text: String, _ range: ClosedRange<Int>) throws -> Int {
      guard let number = Int(text), range.contains(number) else {
        throw SimulationFailure("\(text) is no number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
    while let name = rest.popFirst() {
      if name == "--quick" {
        isQuick = true
        continue
      }
      guard let value = rest.popFirst() else { throw SimulationFailure("\(name) is no option, or has no value") }
      switch name {
      case "--only":
        only = Set(value.split(separator: ",").map(String.init))
        guard only.isSubset(of: Self.parts) else { throw SimulationFailure("there is no part \(value)") }
      case "--hosts": hosts = try number(value, 100...100_000)
      case "--lanes": lanes = try number(value, 1...16)
      case "--seed": seed = UInt64(try number(value, 0...Int.max))
      case "--directory": directory = value
      case "--results": results = value
      case "--commit": commit = value
      case "--state": state = try value.split(separator: ",").map { try number(String($0), 1...1_000_000_000) }
      default: throw SimulationFailure("there is no option \(name)")
      }
    }
  }
}

@main
struct Command {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard !arguments.contains("--help") else { return print(Options.help) }
    do {
      let options = try Options(arguments)
      try Machine.withDirectory(in: options.directory) { directory in
        var command = Command(options: options, directory: directory)
        try command.run()
      }
    } catch {
      FileHandle.standardError.write(Data("FleetSimulation: \(error)\n".utf8))
      exit(1)
    }
  }

  private let options: Options
  private let directory: String
  private let seed: UInt64
  private var lines = ""

  private init(options: Options, directory: String) {
    (self.options, self.directory) = (options, directory)
    seed = options.seed ?? .random(in: 0..<UInt64(UInt32.max))
  }

  private mutating func show(_ table: Table) throws {
    print(table.text)
    fflush(nil)
    lines += try table.json()
    if let results = options.results { try Data(lines.utf8).write(to: URL(filePath: results)) }
  }

  private mutating func run() throws {
    if let state = options.state, state.count == 3 {
      let size = try StateSize(building: state[0], openings: state[1], lanes: state[2], seed: seed, in: directory)
      return print(String(decoding: try JSONEncoder().encode(size), as: UTF8.self))
    }
    print("WEIR_SEED=\(seed)" + (options.commit.map { ", commit \($0)" } ?? ""))
    let sizes = try PartSizes(in: directory, threads: options.lanes)
    if options.only.contains("parts") { try show(sizes.table) }
    let states = try measureStates()
    let needsCosts = !options.only.isDisjoint(with: ["commit", "region", "tiers"])
    let cost = needsCosts ? try measureCollector() : CollectorCost(message: 0, byte: 0, segment: 0)
    if options.only.contains("waiting") {
      try show(
        try CollectorCosts.waiting(options.isQuick ? [100, 1_000] : [100, 1_000, 3_000, 10_000], in: directory))
    }
    if options.only.contains("region") { try simulate(sizes, cost) }
    guard options.only.contains("tiers") else { return }
    let opening = states.last { $0.openings > 1 }?.bytesAnOpening ?? states.last?.bytesAnOpening ?? 0
    let tiers = Tiers(sizes: sizes, broker: .measured, collector: cost, openingBytes: opening)
    for table in [tiers.flow, tiers.memory, tiers.retention] { try show(table) }
  }

  private mutating func measureStates() throws -> [StateSize] {
    guard !options.only.isDisjoint(with: ["state", "tiers"]) else { return [] }
    var wanted = [1_000, 3_000, 10_000, 30_000, 100_000].map { ($0, 1, options.lanes) }
    if !options.isQuick { wanted += [300_000, 1_000_000].map { ($0, 1, options.lanes) } }
    wanted += [(10_000, 1, 14), (10_000, 30, options.lanes), (options.isQuick ? 10_000 : 100_000, 30, options.lanes)]
    let sizes = try wanted.map { hosts, openings, lanes in
      try StateSize.measured(hosts: hosts, openings: openings, lanes: lanes, seed: seed, in: directory)
    }
    try show(StateSizes.table(sizes))
    try show(try StateSizes.check(sizes.filter { $0.lanes == options.lanes }))
    return sizes
  }

  private mutating func measureCollector() throws -> CollectorCost {
    let (table, cost) = try CollectorCosts.commits(
      logs: options.isQuick ? [10, 100] : [10, 100, 1_000, 3_000], parts: options.isQuick ? 3 : 10, in: directory)
    guard !options.only.isDisjoint(with: ["commit", "region"]) else { return cost }
    try show(table)
    try show(try CollectorCosts.segments(logs: options.isQuick ? 30 : 100, parts: 10, in: directory))
    var costs = Table(
      "costs", "What a simulated broker and collector go by", ["who", "µs/message", "ns/byte", "µs/segment"])
    let broker = BrokerCost.measured
    costs.rows = [
      [.text("broker"), .number(broker.message * 1e6, 1), .number(broker.byte * 1e9, 2), .number(0, 0)],
      [
        .text("collector"), .number(cost.message * 1e6, 1), .number(cost.byte * 1e9, 2),
        .number(cost.segment * 1e6, 0),
      ],
    ]
    try show(costs)
    return cost
  }

  private mutating func simulate(_ sizes: PartSizes, _ cost: CollectorCost) throws {
    var table = Regions.table
    for scenario in Regions.scenarios(hosts: options.hosts, isQuick: options.isQuick) {
      var region = try Region(
        scenario, sizes, .measured, cost, lanes: options.lanes, seed: seed, in: directory)
      let row = Regions.row(try region.run(), sizes)
      print(zip(table.columns, row).map { "\($0) \($1.shown)" }.joined(separator: ", "))
      fflush(nil)
      table.rows.append(row)
    }
    try show(table)
  }
}

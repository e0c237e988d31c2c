// Candidates.swift: all subjects by name. The first is what the others are divided by.

/// A subject that can be opened.
struct Candidate: Sendable {
  let name: String
  /// How many times fewer events a slow subject captures, so that all take about as long.
  let slowness: Int
  let open: @Sendable (Setup) throws -> any Subject

  init(_ name: String, slowness: Int = 1, open: @escaping @Sendable (Setup) throws -> any Subject) {
    self.name = name
    self.slowness = slowness
    self.open = open
  }

  /// A library of the peer's name beside the benchmark's other products.
  init(peer name: String, slowness: Int = 1) {
    self.init(name, slowness: slowness) { try PeerSubject(name, $0) }
  }
}

extension Candidate {
  static let floor = Candidate("floor") { try FloorSubject($0) }
  static let weirC = Candidate("weir-c") { try WeirCSubject($0) }
  static let weirSwift = Candidate("weir-swift") { setup -> any Subject in
    guard setup.isCheckout else { return try WeirSwiftTextSubject(setup) }
    return try WeirSwiftSubject(setup)
  }
  static let weirSwiftCodable = Candidate("weir-swift-codable", slowness: 5) { try WeirCodableSubject($0) }
  static let codableDiscard = Candidate("codable-discard", slowness: 5) { CodableDiscardSubject($0) }
  static let moodycamel = Candidate(peer: "moodycamel")
  static let lttng = Candidate(peer: "lttng-ust")
  static let spdlog = Candidate(peer: "spdlog")

  static let all: [Candidate] = [
    floor,
    Candidate("floor-drained") { try DrainedFloorSubject($0) },
    weirC,
    Candidate("weir-c-call") { try WeirCCallSubject($0) },
    weirSwift,
    Candidate("weir-swift-macro") { try WeirMacroSubject($0) },
    Candidate("weir-swift-array") { try WeirSwiftArraySubject($0) },
    weirSwiftCodable,
    codableDiscard,
    moodycamel,
    lttng,
    spdlog,
    Candidate(peer: "sqlite-wal-1000", slowness: 10),
    Candidate(peer: "rocksdb-wal", slowness: 20),
    Candidate("swift-log", slowness: 50) { try SwiftLogSubject($0) },
    Candidate("jsonl-filehandle", slowness: 50) { try JSONLinesSubject($0) },
    Candidate(peer: "sqlite-wal-1", slowness: 100),
  ]

  /// The C interface under each clock that a log can take.
  static let clocks: [Candidate] = [
    ("weir-c", Clock.counter), ("weir-c-coarse", Clock.coarse), ("weir-c-tick", Clock.tick),
  ].map { name, clock in
    Candidate(name) { setup in
      var setup = setup
      setup.clock = clock
      return try WeirCSubject(setup)
    }
  }

  /// What is bound around a capture: first in a process that never bound anything, then in one that did, for good.
  static let scopes: [[Candidate]] = [
    [weirSwift],
    [
      Candidate("weir-swift-unbound") { try WeirScopeSubject($0, binds: false) },
      Candidate("weir-swift-scope") { try WeirScopeSubject($0, binds: true) },
      Candidate("local-unbound") { _ in TaskLocalSubject(.reference, binds: false) },
      Candidate("local-bound") { _ in TaskLocalSubject(.reference, binds: true) },
      Candidate("local-word-unbound") { _ in TaskLocalSubject(.word, binds: false) },
      Candidate("local-word-bound") { _ in TaskLocalSubject(.word, binds: true) },
    ],
  ]

  /// What `--quick` leaves out: they take long, and no target is about them.
  static let slow: Set<String> = ["sqlite-wal-1", "sqlite-wal-1000", "rocksdb-wal", "swift-log", "jsonl-filehandle"]
}

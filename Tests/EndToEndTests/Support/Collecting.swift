// Collecting.swift: `weir collect` as a child of a test: an endpoint on loopback that fails as it is told to, and may
// be killed and started again at the same address, with the same log.
import Foundation
import Glibc

#if HTTP && Collector
  final class Collecting {
    /// Kept from everybody else while the collector is dead: a client's connection could be given it meanwhile.
    private let port: RefusingPort
    let log: String
    /// What a provider of `weir deliver --preset json` is.
    var url: String { port.url }

    private let faults: String
    private var seed: UInt64
    private var child: Child?

    /// Starts one. The faults of each start are others, drawn from the seed.
    init(log: String, faults: String = "", seed: UInt64 = 1) throws {
      self.log = log
      self.faults = faults
      self.seed = seed
      port = try RefusingPort()
      try start()
    }

    func start() throws {
      seed += 1
      let failing = faults.isEmpty ? [] : ["--fail", faults, "--seed", "\(seed)"]
      let child = try Child(Tool.path, ["collect", log, "--port", "\(port.number)"] + failing)
      try child.waitUntil { !$0.output.isEmpty }
      guard !child.output.isEmpty else {
        throw ChildProblem(description: "weir collect does not listen: \(try child.kill().errors)")
      }
      self.child = child
    }

    /// Kills it with SIGKILL.
    func kill() throws {
      let outcome = try child?.kill()
      child = nil
      if let outcome, outcome.signal != SIGKILL {
        throw ChildProblem(description: "weir collect ended by itself: \(outcome.code ?? -1) \(outcome.errors)")
      }
    }

    /// Ends it in order.
    func stop() throws {
      child?.signal(SIGTERM)
      if let outcome = try child?.wait() { try Tool.require(outcome, code: 143, "weir collect") }
      child = nil
    }

    /// Reads what it says, so that it is never held up.
    func serve() { child?.serve(until: Moment.now) }
  }

  /// A port on loopback that is taken and that nobody listens on: connections are refused for as long as this is there,
  /// unless a server is started that may share an address (`SO_REUSEADDR`).
  final class RefusingPort {
    let number: Int
    /// What a provider of `weir deliver` is.
    var url: String { "http://127.0.0.1:\(number)/events" }
    private let descriptor: Int32

    init() throws {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw ChildProblem(description: "socket: errno \(errno)") }
      var yes: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
        }
      }
      guard isBound else {
        let problem = errno
        close(descriptor)
        throw ChildProblem(description: "no port: errno \(problem)")
      }
      self.descriptor = descriptor
      number = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
  }

  /// What a collector's log holds of the lines that were sent.
  struct Collected {
    /// By line: the ids that it came under.
    private(set) var ids: [Int: String] = [:]
    private(set) var events = 0
    private(set) var problems: [String] = []

    init(log: String, lines: RealLines) throws {
      let outcome = try Tool.run("cat", log)
      try Tool.require(outcome, code: 0, "weir cat of what was collected")
      var names: [String: Int] = [:]
      for raw in CatLine.rawLines(outcome.output) {
        let event = try CatLine(raw)
        if event.isNotice { continue }
        events += 1
        guard let id = event.fields["id"] as? String, let properties = event.fields["properties"] as? [String: Any],
          let text = properties["text"] as? String, let number = lines.number(of: text)
        else {
          problems.append("not as it was sent: \(String(decoding: raw.prefix(400), as: UTF8.self))")
          continue
        }
        if let known = ids[number], known != id { problems.append("line \(number) has the ids \(known) and \(id)") }
        if let known = names[id], known != number { problems.append("id \(id) is of lines \(known) and \(number)") }
        ids[number] = id
        names[id] = number
      }
    }
  }

  /// One provider's part of the ledger in `weir stat --json`.
  struct LedgerLine: Decodable, Equatable {
    var provider: String
    var accepted: UInt64
    var acknowledged: UInt64
    var rejected: UInt64
    var pending: UInt64
    var lost: [String: UInt64]
    var balanced: Bool
    var stopped: String?

    static func read(_ log: String) throws -> [LedgerLine] {
      struct Report: Decodable { var ledger: [LedgerLine] }
      let outcome = try Tool.run("stat", log, "--json")
      try Tool.require(outcome, code: 0, "weir stat \(log)")
      return try JSONDecoder().decode(Report.self, from: outcome.output).ledger
    }

    static func read(_ log: String, _ name: String) throws -> LedgerLine {
      guard let line = try read(log).first(where: { $0.provider == name }) else {
        throw ChildProblem(description: "\(log) knows no \(name)")
      }
      return line
    }

    var sum: UInt64 { acknowledged + rejected + pending + lost.values.reduce(0, +) }
  }
#endif

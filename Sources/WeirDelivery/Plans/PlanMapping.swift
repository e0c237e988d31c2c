// PlanMapping: reads a plan from the tree of a file.

import Weir
import WeirContracts
import WeirJSON

/// Reads a plan from a tree, and collects the problems, each as `line 7: providers.segment: …`.
struct PlanMapping: DocumentReading {
  private(set) var problems: [String] = []
  let directory: String
  /// Names the line of a value in messages: of a file `line 7`, and of a configuration the value's key.
  private let nameOfLine: (Int) -> String
  /// The place in the file, for messages.
  private var place = ""

  private static let maximumProblems = 100

  init(directory: String, nameOfLine: @escaping (Int) -> String) {
    self.directory = directory
    self.nameOfLine = nameOfLine
  }

  mutating func problem(_ line: Int, _ message: String) {
    guard problems.count < Self.maximumProblems else { return }
    let source = line == 0 ? "" : nameOfLine(line)
    // The key of a configuration's value is the place, or begins as the place does.
    let places = source.hasPrefix(place) ? [source] : place.hasPrefix(source) ? [place] : [source, place]
    problems.append((places + [message]).filter { !$0.isEmpty }.joined(separator: ": "))
  }

  /// Returns the plan, without the parts that had problems.
  mutating func plan(
    _ node: DocumentNode, _ readContract: (String) throws(WeirError) -> Contract
  ) -> DeliveryPlan {
    var plan = DeliveryPlan()
    guard let map = map(node, "the plan", PlanKeys.plan.names) else { return plan }
    var usual = DeliveryPlan.Entry("")
    read(map, into: &usual, readContract)
    guard let providers = map["providers"] else {
      problem(node.line, "the key providers is missing; it lists the providers by name")
      return plan
    }
    let entries = entries(providers, "providers", of: "the provider")
    noteEqualKeys(entries, "the provider")
    for entry in entries {
      place = "providers.\(entry.key)"
      if !Cursor.isProviderName(entry.key) {
        problem(entry.line, "a provider's name has 1 to 64 letters, digits, - and _")
      }
      guard let map = self.map(entry.value, "a provider", PlanKeys.provider.names) else { continue }
      var read = usual
      read.name = entry.key
      read.destination = destination(map)
      self.read(map, into: &read, readContract)
      if problems.isEmpty { check(read, entry.line) }
      plan.entries.append(read)
    }
    place = ""
    if let node = map["routes"] { plan.routes = routes(node, among: plan.entries.map(\.name)) }
    return plan
  }

  private mutating func routes(_ node: DocumentNode, among names: [String]) -> [DeliveryPlan.Route] {
    guard case .list(let nodes) = node.content else {
      problem(node.line, "routes is a list of maps with the keys events and to")
      return []
    }
    return nodes.compactMap { node in
      guard let map = self.map(node, "a route", PlanKeys.route.names) else { return nil }
      guard let events = map["events"], let to = map["to"] else {
        problem(node.line, "a route has events and to")
        return nil
      }
      let route = DeliveryPlan.Route(events: texts(events, "events"), to: texts(to, "to"))
      for name in route.to where !names.contains(name) {
        problem(to.line, "the plan has no provider \(quoted(name))\(Spelling.hint(name, among: names))")
      }
      return route
    }
  }

  /// Reads the keys that the plan and each of its providers may have.
  private mutating func read(
    _ map: [String: DocumentNode], into entry: inout DeliveryPlan.Entry,
    _ readContract: (String) throws(WeirError) -> Contract
  ) {
    if let node = map["contract"] { entry.options.contract = contract(node, readContract) }
    if let flag = optionalFlag(map, "omits_unknown_fields") { entry.options.omitsUnknownFields = flag }
    if let node = map["mapper"] { entry.mapper = entry.mapper.then(mapper(node)) }
    if let start = start(map) { entry.options.start = start }
    if let node = map["duplicate_window"] {
      if case .null = node.content {
        entry.options.duplicateWindow = nil
      } else if let window = duration(map, "duplicate_window") {
        entry.options.duplicateWindow = window
      }
    }
    if let number = whole(map, "duplicate_memory") { entry.options.duplicateMemory = number }
    if let number = whole(map, "user_memory") { entry.options.userMemory = number }
    if let flag = optionalFlag(map, "redacts_sensitive") { entry.options.redactsSensitive = flag }
    if let node = map["annotations"] { entry.options.annotations = annotations(node) }
    if let flag = optionalFlag(map, "sends_gaps") { entry.options.sendsGaps = flag }
    if let time = duration(map, "attempt_timeout") { entry.options.attemptTimeout = time }
    if let node = map["flush"] { flush(node, into: &entry.options.flush) }
    if let node = map["rate_caps"] { entry.options.rateCaps = rateCaps(node) }
    if let node = map["budget"] { budget(node, into: &entry.options.budget) }
    if let node = map["backoff"] { backoff(node, into: &entry.options.backoff) }
  }

  /// Checks the ranges of the options as adding the provider does.
  private mutating func check(_ entry: DeliveryPlan.Entry, _ line: Int) {
    do throws(WeirError) { try entry.options.validate(for: entry.name) } catch { problem(line, error.message) }
  }

  private mutating func contract(
    _ node: DocumentNode, _ readContract: (String) throws(WeirError) -> Contract
  ) -> CompiledContract? {
    do throws(ContractError) {
      switch node.content {
      case .null: return nil
      case .text(let path): return contract(at: PlanPaths.resolved(path, in: directory), node.line, readContract)
      case .map: return try Contract(node).compiled()
      default:
        problem(node.line, "contract is \(node.kindName); write the path of a contract, or a contract")
        return nil
      }
    } catch {
      for found in error.problems { problem(found.line ?? node.line, "contract: \(found.withoutLine)") }
      return nil
    }
  }

  private mutating func contract(
    at path: String, _ line: Int, _ read: (String) throws(WeirError) -> Contract
  ) -> CompiledContract? {
    do throws(WeirError) {
      let contract = try read(path)
      do throws(ContractError) { return try contract.compiled() } catch { throw error.weirError(path) }
    } catch {
      for text in error.message.split(separator: "\n") { problem(line, "contract: \(text)") }
      return nil
    }
  }

  private mutating func destination(_ map: [String: DocumentNode]) -> DeliveryPlan.Destination? {
    let keys = PlanKeys.destination.map(\.name)
    let given = keys.first { map[$0] != nil }
    guard let to = text(map, "to") else {
      if let given, given != "to" { problem(map[given]?.line ?? 0, "\(given) needs the key to, a URL or a path") }
      return nil
    }
    var destination = DeliveryPlan.Destination(to)
    destination.to = destination.isURL ? to : PlanPaths.resolved(to, in: directory)
    let line = map["to"]?.line ?? 0
    if let fault = DeliveryPlan.Destination(to).problem(as: "to", keys: "key_env or key_file") { problem(line, fault) }
    for key in keys where map[key] != nil && key != "to" && PlanKeys.ofPath.contains(key) == destination.isURL {
      problem(map[key]?.line ?? 0, key == "lz4" ? "lz4 needs a path; use gzip for a URL" : "\(key) needs a URL in to")
    }
    if let name = text(map, "preset") {
      if let preset = HTTPPresetName(rawValue: name) {
        destination.preset = preset
      } else {
        let hint = Spelling.hint(name, among: HTTPPresetName.allCases.map(\.rawValue))
        problem(map["preset"]?.line ?? 0, "there is no preset \(quoted(name))\(hint)")
      }
    }
    destination.key = key(map, "key")
    destination.pseudonymKey = key(map, "pseudonym_key")
    destination.failover = failover(map)
    if let node = map["statuses"] { destination.statusRules = statusRules(node) }
    destination.user = text(map, "user") ?? ""
    destination.project = text(map, "project") ?? ""
    destination.table = text(map, "table") ?? destination.table
    destination.groups = map["groups"].map { texts($0, "groups") } ?? []
    destination.authorities = text(map, "cacert").map { PlanPaths.resolved($0, in: directory) }
    destination.certificate = text(map, "cert").map { PlanPaths.resolved($0, in: directory) }
    destination.certificateKey = text(map, "cert_key").map { PlanPaths.resolved($0, in: directory) }
    destination.gzip = optionalFlag(map, "gzip") ?? destination.gzip
    destination.concurrency = whole(map, "concurrency") ?? destination.concurrency
    if destination.concurrency < 1 {
      problem(
        map["concurrency"]?.line ?? 0, "concurrency is \(destination.concurrency); write a whole number of at least 1")
    }
    destination.lz4 = optionalFlag(map, "lz4") ?? destination.lz4
    return destination
  }

  private mutating func failover(_ map: [String: DocumentNode]) -> String? {
    guard let address = text(map, "failover") else { return nil }
    let second = DeliveryPlan.Destination(address)
    let line = map["failover"]?.line ?? 0
    if let fault = second.problem(as: "failover", keys: "key_env or key_file") {
      problem(line, fault)
    } else if !second.isURL {
      problem(line, "failover is a path; write a URL")
    } else if case .text(address)? = map["to"]?.content {
      problem(line, "failover is the URL of to; write the URL of another host")
    }
    return address
  }

  private mutating func statusRules(_ node: DocumentNode) -> HTTPStatusRules {
    var rules = HTTPStatusRules()
    let entries = entries(node, "statuses", of: "the status")
    noteEqualKeys(entries, "the status")
    for entry in entries {
      guard case .text(let name) = entry.value.content, let meaning = HTTPStatusRules.Meaning(rawValue: name) else {
        let names = HTTPStatusRules.Meaning.allCases.map(\.rawValue).joined(separator: ", ")
        problem(entry.line, "the status \(quoted(entry.key)) has an unknown meaning; write one of \(names)")
        continue
      }
      if !rules.add(entry.key, meaning) {
        problem(entry.line, "\(quoted(entry.key)) is no status; write 200 to 599, or a class such as 5xx")
      }
    }
    return rules
  }
}

// MARK: Options

extension PlanMapping {
  /// Where a key is kept.
  private mutating func key(_ map: [String: DocumentNode], _ name: String) -> DeliveryPlan.Destination.Key? {
    let (variable, path) = (text(map, name + "_env"), text(map, name + "_file"))
    if variable != nil, path != nil {
      problem(map[name + "_file"]?.line ?? 0, "\(name)_env and \(name)_file are both given; remove one of them")
    }
    return path.map { .file(PlanPaths.resolved($0, in: directory)) } ?? variable.map { .environment($0) }
  }

  private mutating func start(_ map: [String: DocumentNode]) -> DeliveryOptions.Start? {
    guard let text = text(map, "start") else { return nil }
    if let start = DeliveryOptions.Start(text: text) { return start }
    if let time = Timestamp(text: text, form: .strict) { return .time(time) }
    problem(
      map["start"]?.line ?? 0, "start is beginning, end, offset:N, or a time such as 2026-11-21T09:30:00Z")
    return nil
  }

  private mutating func annotations(_ node: DocumentNode) -> DeliveryOptions.Annotations {
    var annotations: DeliveryOptions.Annotations = []
    let known = DeliveryOptions.Annotations.names
    for name in texts(node, "annotations") {
      if let annotation = known.first(where: { $0.name == name })?.annotation {
        annotations.insert(annotation)
      } else {
        problem(
          node.line, "there is no annotation \(quoted(name))\(Spelling.hint(name, among: known.map(\.name)))")
      }
    }
    return annotations
  }

  private mutating func flush(_ node: DocumentNode, into policy: inout FlushPolicy) {
    guard let map = map(node, "flush", PlanKeys.flush.names) else { return }
    if let node = map["triggers"] {
      policy.triggers = []
      for name in texts(node, "triggers") {
        if let trigger = PlanKeys.triggers.first(where: { $0.0 == name })?.1 {
          policy.triggers.insert(trigger)
        } else {
          problem(
            node.line, "there is no trigger \(quoted(name))\(Spelling.hint(name, among: PlanKeys.triggers.map(\.0)))")
        }
      }
    }
    if let number = whole(map, "queue_limit") { policy.queueLimit = number }
    if let number = whole(map, "delivery_size") { policy.deliverySize = number }
    if let time = duration(map, "interval") { policy.interval = time }
    if let number = whole(map, "first_events") { policy.firstEvents = number }
    if let time = duration(map, "idle_after") { policy.idleAfter = time }
    if let number = number(map, "overflow_threshold") { policy.overflowThreshold = number }
    if let number = whole(map, "maximum_events") { policy.maximumEvents = number }
    if let number = whole(map, "maximum_bytes") { policy.maximumBytes = number }
  }

  private mutating func rateCaps(_ node: DocumentNode) -> [RateCap] {
    guard case .list(let nodes) = node.content else {
      problem(node.line, "rate_caps is \(node.kindName); write a list of maps with the keys events, most and per")
      return []
    }
    return nodes.compactMap { node in
      guard let map = map(node, "a rate cap", PlanKeys.rateCap.names) else { return nil }
      guard let events = map["events"], let most = whole(map, "most"), let per = duration(map, "per") else {
        problem(node.line, "a rate cap has events, most and per")
        return nil
      }
      return RateCap(events: texts(events, "events"), most: most, per: per)
    }
  }

  private mutating func budget(_ node: DocumentNode, into budget: inout DeliveryOptions.Budget) {
    guard let map = map(node, "budget", PlanKeys.budget.names) else { return }
    if let number = number(map, "calls_per_second") { budget.callsPerSecond = number }
    if let number = whole(map, "bytes_per_second") { budget.bytesPerSecond = number }
    if let time = duration(map, "processor_time_per_second") { budget.processorTimePerSecond = time }
  }

  private mutating func backoff(_ node: DocumentNode, into backoff: inout DeliveryOptions.Backoff) {
    guard let map = map(node, "backoff", PlanKeys.backoff.names) else { return }
    if let time = duration(map, "least") { backoff.least = time }
    if let time = duration(map, "most") { backoff.most = time }
    if let number = whole(map, "failures") { backoff.failures = number }
    if let time = duration(map, "open_for") { backoff.openFor = time }
    if let number = whole(map, "probe_events") { backoff.probeEvents = number }
  }

  private mutating func duration(_ map: [String: DocumentNode], _ key: String) -> Duration? {
    guard let node = map[key] else { return nil }
    if case .text(let text) = node.content, let duration = Duration(text: text) { return duration }
    problem(node.line, "\(key) is not a duration; write a whole number with ns, us, ms, s, m, h or d, such as \"90s\"")
    return nil
  }

  mutating func number(_ map: [String: DocumentNode], _ key: String) -> Double? {
    switch map[key]?.content {
    case nil: return nil
    case .number(.int(let number)): return Double(number)
    case .number(.uint(let number)): return Double(number)
    case .number(.double(let number)): return number
    default:
      problem(map[key]?.line ?? 0, "\(key) is \(map[key]?.kindName ?? ""); write a number")
      return nil
    }
  }

  /// Returns the texts of a list.
  mutating func texts(_ node: DocumentNode, _ key: String) -> [String] {
    guard case .list(let nodes) = node.content else {
      problem(node.line, "\(key) is \(node.kindName); write a list of texts")
      return []
    }
    var texts: [String] = []
    for node in nodes {
      if case .text(let text) = node.content {
        texts.append(text)
      } else {
        problem(node.line, "\(key) contains \(node.kindName); write a list of texts")
      }
    }
    return texts
  }

  /// Calls `body` with `name` added to the place in messages.
  mutating func within<Result>(_ name: String, _ body: (inout PlanMapping) -> Result) -> Result {
    let outer = place
    defer { place = outer }
    place = place.isEmpty ? name : "\(place).\(name)"
    return body(&self)
  }
}

extension DeliveryOptions.Start {
  /// Reads `beginning`, `end` or `offset:N`. Returns `nil` for any other text, such as a time.
  package init?(text: String) {
    switch text {
    case "beginning": self = .beginning
    case "end": self = .end
    default:
      let digits = text.dropFirst("offset:".count)
      guard text.hasPrefix("offset:"), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let offset = Offset(digits)
      else { return nil }
      self = .offset(offset)
    }
  }
}

extension ContractError.Problem {
  /// The problem without its line, which a plan's problem has itself.
  fileprivate var withoutLine: String {
    var problem = self
    problem.line = nil
    return problem.description
  }
}

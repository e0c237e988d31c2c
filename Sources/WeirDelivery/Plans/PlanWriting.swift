// PlanWriting: converts a plan into the tree of a file. Keys with the usual value are left out.

import Weir
import WeirContracts
import WeirJSON

extension EventMapper {
  /// The steps that no file can hold because they are closures.
  var closures: [String] {
    forms.compactMap { if case .closure(let name) = $0 { name } else { nil } }
  }

  /// The steps in a plan's file; a closure is its name in parentheses.
  var nodes: [DocumentNode] {
    forms.map { form in
      switch form {
      case .document(let node): node
      case .closure(let name): .text("(\(name))")
      }
    }
  }

  private var forms: [MapperForm] { derivations.map(\.form) + steps.map(\.form) }
}

enum PlanWriting {
  static func node(_ plan: DeliveryPlan) -> DocumentNode {
    // A contract that all providers share is written once.
    let contracts = plan.entries.map { $0.options.contract?.contract.node }
    let texts = Set(contracts.map { $0?.json() })
    let shared = texts.count == 1 ? contracts.first ?? nil : nil
    let providers = zip(plan.entries, contracts).map { entry, contract in
      (entry.name, node(entry, contract: shared == nil ? contract : nil) as DocumentNode?)
    }
    let routes = plan.routes.isEmpty ? nil : DocumentNode.list(plan.routes.map(\.node))
    return .map([("contract", shared), ("routes", routes), ("providers", .map(providers))])
  }

  private static func node(_ entry: DeliveryPlan.Entry, contract: DocumentNode?) -> DocumentNode {
    let options = entry.options
    let usual = DeliveryOptions()
    let start: String? =
      switch options.start {
      case .beginning: nil
      case .end: "end"
      case .time(let time): time.description
      case .offset(let offset): "offset:\(offset)"
      }
    return .map(
      (entry.destination.map(keys) ?? []) + [("contract", contract)] + preparation(entry).filter { $0.0 != "pseudonym" }
        + [
          ("start", start.map(DocumentNode.text)),
          ("user_memory", changed(options.userMemory, usual.userMemory)),
          ("attempt_timeout", changed(options.attemptTimeout, usual.attemptTimeout)),
          ("flush", flush(options.flush)), ("backoff", backoff(options.backoff)), ("budget", budget(options.budget)),
        ])
  }

  /// The keys that change events, except for the contract.
  static func preparation(_ entry: DeliveryPlan.Entry) -> [(String, DocumentNode?)] {
    let options = entry.options
    let usual = DeliveryOptions()
    let steps = entry.mapper.nodes
    let annotations = DeliveryOptions.Annotations.names.filter { options.annotations.contains($0.annotation) }
    let window =
      options.duplicateWindow == nil
      ? DocumentNode(.null) : changed(options.duplicateWindow ?? .zero, usual.duplicateWindow ?? .zero)
    return [
      ("omits_unknown_fields", options.omitsUnknownFields ? .bool(true) : nil),
      ("duplicate_window", window),
      ("duplicate_memory", changed(options.duplicateMemory, usual.duplicateMemory)),
      ("redacts_sensitive", options.redactsSensitive ? nil : .bool(false)),
      ("pseudonym", options.pseudonym.map { .text($0.fingerprint) }),
      ("rate_caps", options.rateCaps.isEmpty ? nil : .list(options.rateCaps.map(\.node))),
      ("annotations", options.annotations == usual.annotations ? nil : .texts(annotations.map(\.name))),
      ("sends_gaps", options.sendsGaps ? nil : .bool(false)),
      ("mapper", steps.isEmpty ? nil : .list(steps)),
    ]
  }

  private static func keys(_ destination: DeliveryPlan.Destination) -> [(String, DocumentNode?)] {
    func reference(_ name: String, _ key: DeliveryPlan.Destination.Key?) -> (String, DocumentNode?) {
      switch key {
      case .environment(let variable)?: (name + "_env", .text(variable))
      case .file(let path)?: (name + "_file", .text(path))
      case nil: (name + "_env", nil)
      }
    }
    func text(_ text: String) -> DocumentNode? { text.isEmpty ? nil : .text(text) }
    return [
      ("to", .text(destination.to)),
      ("preset", destination.preset == .json ? nil : .text(destination.preset.rawValue)),
      reference("key", destination.key), reference("pseudonym_key", destination.pseudonymKey),
      ("user", text(destination.user)), ("project", text(destination.project)),
      ("table", destination.table == "events" ? nil : .text(destination.table)),
      ("groups", destination.groups.isEmpty ? nil : .texts(destination.groups)),
      ("failover", destination.failover.map(DocumentNode.text)),
      (
        "statuses",
        destination.statusRules.isEmpty
          ? nil : .map(destination.statusRules.entries.map { ($0.key, .text($0.meaning.rawValue)) })
      ),
      ("cacert", destination.authorities.map(DocumentNode.text)),
      ("cert", destination.certificate.map(DocumentNode.text)),
      ("cert_key", destination.certificateKey.map(DocumentNode.text)),
      ("gzip", destination.gzip ? nil : .bool(false)), ("concurrency", changed(destination.concurrency, 1)),
      ("lz4", destination.lz4 ? .bool(true) : nil),
    ]
  }

  private static func budget(_ budget: DeliveryOptions.Budget) -> DocumentNode? {
    let node = DocumentNode.map([
      ("calls_per_second", budget.callsPerSecond.map { DocumentNode(.number(.double($0))) }),
      ("bytes_per_second", budget.bytesPerSecond.map { DocumentNode.number($0) }),
      ("processor_time_per_second", budget.processorTimePerSecond.map { .text($0.text) }),
    ])
    return node.isEmptyMap ? nil : node
  }

  private static func flush(_ policy: FlushPolicy) -> DocumentNode? {
    let usual = FlushPolicy()
    let triggers = PlanKeys.triggers.filter { policy.triggers.contains($0.1) }.map(\.0)
    let node = DocumentNode.map([
      ("triggers", policy.triggers == usual.triggers ? nil : .texts(triggers)),
      ("queue_limit", changed(policy.queueLimit, usual.queueLimit)),
      ("delivery_size", changed(policy.deliverySize, usual.deliverySize)),
      ("interval", changed(policy.interval, usual.interval)),
      ("first_events", changed(policy.firstEvents, usual.firstEvents)),
      ("idle_after", changed(policy.idleAfter, usual.idleAfter)),
      (
        "overflow_threshold",
        policy.overflowThreshold == usual.overflowThreshold
          ? nil : DocumentNode(.number(.double(policy.overflowThreshold)))
      ),
      ("maximum_events", changed(policy.maximumEvents, usual.maximumEvents)),
      ("maximum_bytes", changed(policy.maximumBytes, usual.maximumBytes)),
    ])
    return node.isEmptyMap ? nil : node
  }

  private static func backoff(_ backoff: DeliveryOptions.Backoff) -> DocumentNode? {
    let usual = DeliveryOptions.Backoff()
    let node = DocumentNode.map([
      ("least", changed(backoff.least, usual.least)), ("most", changed(backoff.most, usual.most)),
      ("failures", changed(backoff.failures, usual.failures)), ("open_for", changed(backoff.openFor, usual.openFor)),
      ("probe_events", changed(backoff.probeEvents, usual.probeEvents)),
    ])
    return node.isEmptyMap ? nil : node
  }

  private static func changed(_ number: Int, _ usual: Int) -> DocumentNode? { number == usual ? nil : .number(number) }

  private static func changed(_ duration: Duration, _ usual: Duration) -> DocumentNode? {
    duration == usual ? nil : .text(duration.text)
  }
}

extension RateCap {
  fileprivate var node: DocumentNode {
    .map([("events", .texts(events)), ("most", .number(most)), ("per", .text(per.text))])
  }
}

extension DocumentNode {
  fileprivate var isEmptyMap: Bool { if case .map(let entries) = content { entries.isEmpty } else { false } }
}

// A provider that keeps to the protocol passes the suite, and each way of breaking it is found by the check for it.

import Testing
import Weir
import WeirDelivery

@testable import WeirTesting

@Suite struct ProviderConformanceTests {
  private typealias Check = ProviderConformance.Check

  /// Where the providers of one suite put their events, as a service would keep them.
  private final class Store: Sendable {
    private let kept = Shared<(entries: [ProviderConformance.Entry], ids: Set<EventID>)>(([], []))

    var entries: [ProviderConformance.Entry] { kept.withLock { $0.entries } }

    func has(_ id: EventID) -> Bool { kept.withLock { $0.ids.contains(id) } }

    func keep(_ entry: ProviderConformance.Entry) {
      kept.withLock { kept in
        kept.entries.append(entry)
        if case .event(let id, _) = entry { kept.ids.insert(id) }
      }
    }

    func forget() { kept.withLock { $0 = ([], []) } }

    /// Calls that hang, and whose end nobody has waited for yet.
    private let hanging = Shared(0)

    func hang() { hanging.withLock { $0 += 1 } }

    /// Returns once a call hangs, and then at the next one that does.
    func waitForHanging() async throws {
      while !hanging.withLock({ count in
        defer { count = max(count - 1, 0) }
        return count > 0
      }) { try await Task.sleep(for: .milliseconds(1)) }
    }
  }

  private enum Fault: String, CaseIterable, Sendable {
    case none
    case badName, emptyName, changingName
    case noSetup
    case keepsNothing, rejectsEverything, neverDecides, throwsAlways
    case verdictMissing, verdictTooMany
    case verdictsReversed, acceptsTheUnacceptable, keepsTheRejected
    case noReason, negativeRetry
    case throwsWithoutEvents, verdictWithoutEvents
    case newestFirst
    case changesFields, losesFields
    case rejectsWhatCameBefore, keepsTwice, keepsTwiceAfterRestart
    case throwsAtNUL, rejectsBesideNUL
    case atMostAThousand
    case associationThrows, secondDisassociationThrows, associatesLate
    case hangsWhenCancelled, deadAfterCancellation, acceptsTheCancelled
    case forgetsAtShutdown, hangsAtShutdown
  }

  private struct Broken: Error {}

  /// A provider with one fault, or none.
  private actor Subject: Provider {
    nonisolated let name: String
    private let fault: Fault
    private let store: Store
    private var lateAssociations: [ProviderConformance.Entry] = []
    private var seen: Set<EventID> = []
    private var isDead = false
    private var disassociations = 0

    init(_ fault: Fault, _ store: Store) {
      self.fault = fault
      self.store = store
      switch fault {
      case .badName: name = "my provider"
      case .emptyName: name = ""
      case .changingName: name = "provider-\(UInt64.random(in: 0 ... .max))"
      default: name = "Subject_1-x"
      }
    }

    func setup() async throws {
      if fault == .noSetup { throw Broken() }
    }

    func associate(_ user: EventUser) async throws {
      if fault == .associationThrows { throw Broken() }
      if fault == .associatesLate {
        lateAssociations.append(.associated(user.id))
      } else {
        store.keep(.associated(user.id))
      }
    }

    func disassociate() async throws {
      disassociations += 1
      if fault == .secondDisassociationThrows, disassociations > 1 { throw Broken() }
      store.keep(.disassociated)
    }

    func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
      if events.isEmpty {
        if fault == .throwsWithoutEvents { throw Broken() }
        return fault == .verdictWithoutEvents ? [.accepted] : []
      }
      try await prepare(events)
      let verdicts = events.map { verdict(for: $0, among: events) }
      let kept = zip(events, verdicts).filter { $0.1 == .accepted || fault == .keepsTheRejected }.map(\.0)
      keep(fault == .newestFirst ? kept.reversed() : kept)
      for entry in lateAssociations { store.keep(entry) }
      lateAssociations = []
      switch fault {
      case .verdictMissing: return Array(verdicts.dropLast())
      case .verdictTooMany: return verdicts + [.accepted]
      case .verdictsReversed: return verdicts.reversed()
      default: return verdicts
      }
    }

    /// What goes wrong before anything is looked at.
    private func prepare(_ events: [PreparedEvent]) async throws {
      switch fault {
      case .throwsAlways: throw Broken()
      case .throwsAtNUL where events.contains { $0.name == "NUL" }: throw Broken()
      case .atMostAThousand where events.count > 1000: throw Broken()
      case .hangsWhenCancelled where Task.isCancelled: await hang()
      case .deadAfterCancellation:
        if Task.isCancelled { isDead = true }
        if isDead { throw Broken() }
      default: break
      }
    }

    private func hang() async {
      store.hang()
      await withCheckedContinuation { Self.Unresumed.append($0) }
    }

    /// Continuations that nobody resumes, kept so that the runtime does not complain.
    @MainActor private static var kept: [CheckedContinuation<Void, Never>] = []
    private enum Unresumed {
      static func append(_ continuation: CheckedContinuation<Void, Never>) {
        Task { @MainActor in kept.append(continuation) }
      }
    }

    private func verdict(for event: PreparedEvent, among events: [PreparedEvent]) -> Verdict {
      let id = event.stored.id
      switch fault {
      case .rejectsEverything: return .rejected("no")
      case .neverDecides: return .retry(after: .milliseconds(1))
      case .negativeRetry where seen.insert(id).inserted: return .retry(after: .seconds(-1))
      case .rejectsWhatCameBefore where store.has(id): return .rejected("seen before")
      case .rejectsBesideNUL where events.count > 1 && events.contains { $0.name == "NUL" }: return .rejected("NUL")
      case .acceptsTheUnacceptable: return .accepted
      case .noReason where event.name == "unacceptable": return .rejected("")
      default: return event.name == "unacceptable" ? .rejected("unknown event") : .accepted
      }
    }

    private func keep(_ events: [PreparedEvent]) {
      for event in events {
        let id = event.stored.id
        switch fault {
        case .keepsNothing: continue
        case .acceptsTheCancelled where Task.isCancelled: continue
        case .keepsTwice: break
        case .keepsTwiceAfterRestart: if !seen.insert(id).inserted { continue }
        default: if store.has(id) { continue }
        }
        let fields: FieldObject? =
          switch fault {
          case .changesFields: FieldObject(event.fields.map { ($0.name.uppercased(), $0.value) })
          case .losesFields: FieldObject(Array(event.fields.dropLast()))
          default: event.fields
          }
        store.keep(.event(id, fields: fields))
      }
    }

    func shutdown() async {
      if fault == .forgetsAtShutdown { store.forget() }
      if fault == .hangsAtShutdown { await hang() }
    }
  }

  private func findings(
    of fault: Fault, checks: Set<Check> = Set(Check.allCases),
    claims: Set<ProviderConformance.Claim> = [.keepsOrder, .keepsOnce]
  ) async -> [ProviderConformance.Finding] {
    let store = Store()
    // The patience is over with what hangs at once, and never with what only takes its time.
    return await ProviderConformance.findings(
      checks, claims: claims, unacceptable: ("unacceptable", ["why": "the test says so"]), patience: .seconds(60),
      makeProvider: { Subject(fault, store) }, delivered: { _ in store.entries },
      timer: { try await store.waitForHanging() })
  }

  @Test func `a good provider passes`() async throws {
    #expect(await findings(of: .none) == [])
  }

  /// By which checks each fault is found, all of them and no other.
  private static let finders: [Fault: Set<Check>] = [
    .badName: [.name], .emptyName: [.name], .changingName: [.name],
    .noSetup: [.setup],
    .keepsNothing: [.delivery], .rejectsEverything: [.delivery], .neverDecides: [.delivery], .throwsAlways: [.delivery],
    .verdictMissing: [.verdictCount], .verdictTooMany: [.verdictCount],
    .verdictsReversed: [.verdictOrder], .acceptsTheUnacceptable: [.verdictOrder], .keepsTheRejected: [.verdictOrder],
    .noReason: [.verdictValues], .negativeRetry: [.verdictValues],
    .throwsWithoutEvents: [.emptyBatch], .verdictWithoutEvents: [.emptyBatch],
    // An association between two events is out of order then, too.
    .newestFirst: [.order, .associations],
    .changesFields: [.contents], .losesFields: [.contents],
    .rejectsWhatCameBefore: [.repetition, .restart], .keepsTwice: [.repetition, .restart],
    .keepsTwiceAfterRestart: [.restart],
    .throwsAtNUL: [.extremeValues], .rejectsBesideNUL: [.extremeValues],
    .atMostAThousand: [.largeBatch],
    .associationThrows: [.associations], .secondDisassociationThrows: [.associations],
    .associatesLate: [.associations],
    .hangsWhenCancelled: [.cancellation], .deadAfterCancellation: [.cancellation],
    .acceptsTheCancelled: [.cancellation],
    .forgetsAtShutdown: [.shutdown], .hangsAtShutdown: [.shutdown],
  ]

  @Test(arguments: Fault.allCases.filter { $0 != .none })
  private func `each fault is found by its check`(_ fault: Fault) async throws {
    // The large batch takes longer than all others together, and finds what these do.
    let finders = try #require(Self.finders[fault])
    let found = await findings(of: fault, checks: Set(Check.allCases).subtracting([.largeBatch]).union(finders))
    #expect(Set(found.map(\.check)) == finders, "\(found)")
  }

  @Test func `every check finds something`() {
    #expect(Set(Self.finders.values.flatMap { $0 }) == Set(Check.allCases))
  }

  @Test func `a provider is not held to what it does not claim`() async throws {
    let found = await findings(of: .keepsTwice, claims: [.keepsOrder])
    #expect(found == [])
  }

  @Test func `the verdicts alone are looked at where nothing tells what was delivered`() async throws {
    let store = Store()
    try await ProviderConformance.check(makeProvider: { Subject(.keepsNothing, store) })
    let failure = await #expect(throws: ProviderConformance.Failure.self) {
      try await ProviderConformance.check(makeProvider: { Subject(.verdictMissing, store) })
    }
    #expect(Set(failure?.findings.map(\.check) ?? []) == [.verdictCount])
    #expect(failure?.description.contains("- verdictCount: 0 verdicts for 1 events") == true)
  }

  /// Refuses a batch with the unacceptable event in it as a whole, as delivery allows.
  private struct Refusing: Provider {
    let store: Store
    let reason: String
    var name: String { "refusing" }

    func associate(_ user: EventUser) async throws { store.keep(.associated(user.id)) }
    func disassociate() async throws { store.keep(.disassociated) }

    func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
      if events.contains(where: { $0.name == "unacceptable" }) { throw BatchRefused(reason) }
      for event in events where !store.has(event.stored.id) {
        store.keep(.event(event.stored.id, fields: event.fields))
      }
      return events.map { _ in .accepted }
    }
  }

  @Test func `a provider that refuses batches keeps to the protocol`() async throws {
    for (reason, checks) in [("schema", []), ("", [Check.verdictValues])] as [(String, Set<Check>)] {
      let store = Store()
      let found = await ProviderConformance.findings(
        claims: [.keepsOrder, .keepsOnce], unacceptable: ("unacceptable", [:]),
        makeProvider: { Refusing(store: store, reason: reason) }, delivered: { _ in store.entries })
      #expect(Set(found.map(\.check)) == checks, "\(found)")
    }
  }

  @Test func `a provider that stops is a finding`() async throws {
    let found = await ProviderConformance.findings(
      [.delivery], makeProvider: { ScriptedProvider(finally: .stop("401: a wrong key")) })
    #expect(found.first?.check == .delivery)
    #expect(found.first?.message.contains("401: a wrong key") == true)
  }

  @Test func `a provider that cannot be made is a finding`() async throws {
    let found = await ProviderConformance.findings(makeProvider: { () throws -> ScriptedProvider in throw Broken() })
    #expect(found.map(\.check) == [.setup])
  }

  /// The suite calls a provider as delivery does: set up first, shut down last, one call at a time.
  @Test func `the suite itself keeps to the protocol`() async throws {
    let made = Shared<[ScriptedProvider]>([])
    try await ProviderConformance.check(makeProvider: {
      let provider = ScriptedProvider(setupFailures: ["not yet"])
      made.withLock { $0.append(provider) }
      return provider
    })
    let providers = made.withLock { $0 }
    #expect(providers.count > Check.allCases.count)
    for provider in providers where !provider.calls.isEmpty {
      #expect(provider.calls.prefix(2) == [.setup, .setup])
      #expect(provider.calls.dropFirst(2).allSatisfy { $0 != .setup })
      #expect(provider.calls.last == .shutdown)
      #expect(provider.calls.filter { $0 == .shutdown }.count == 1)
      #expect(provider.overlaps == 0)
    }
    // Two checks make a second one only to see its name, or to start again.
    #expect(providers.filter(\.calls.isEmpty).count == 1)
  }
}

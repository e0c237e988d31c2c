// ProviderConformance: the test suite for authors of providers.

public import Weir
public import WeirDelivery

/// Checks whether a provider fulfils the requirements of `Provider`. For the tests of a provider's author.
///
/// ```swift
/// @Test func keepsToTheProtocol() async throws {
///   let endpoint = try FakeEndpoint()
///   try await ProviderConformance.check(
///     makeProvider: { WarehouseProvider(url: endpoint.url) },
///     delivered: { _ in try await endpoint.rows().map { .event($0.id, fields: $0.fields) } })
/// }
/// ```
///
/// In XCTest, use it the same way. Findings are thrown as one ``Failure`` that lists all of them.
/// ``findings(_:claims:unacceptable:patience:makeProvider:delivered:)`` returns them as values instead.
///
/// Each ``Check`` makes a provider, sets the provider up, tests it, and shuts it down. Calls never overlap, as in
/// delivery. Each check uses its own events, so checks may share a provider. An event whose verdict is a retry, or
/// whose call threw, is given again at once, at most five times. If no provider can be set up, or ordinary events are
/// not delivered, the remaining checks are skipped.
///
/// **`delivered`** returns what the provider has, oldest first. Without it, the suite can check only verdicts. The
/// result may contain other events. If a provider shows events only after a while, the closure must wait for them.
public enum ProviderConformance {
  /// A check.
  public enum Check: String, CaseIterable, Hashable, Sendable {
    /// The name consists only of letters, digits, `-` and `_`. Two providers of one kind have the same name, because
    /// the name identifies the cursor.
    case name
    /// A provider can be set up.
    case setup
    /// Ordinary events are accepted, singly and together, and the provider has the events with the verdict
    /// `Verdict.accepted`.
    case delivery
    /// Each event gets a verdict.
    case verdictCount
    /// Verdicts are in the order of the events: the verdict for the event given as `unacceptable` is in the event's
    /// place, wherever that is. The provider does not have a rejected event.
    case verdictOrder
    /// A rejection has a reason, and the delay of a retry is not negative.
    case verdictValues
    /// A call without events returns no verdicts and throws no error.
    case emptyBatch
    /// Events are in the given order, across several batches. Requires ``Claim/keepsOrder``.
    case order
    /// Events have the given contents, if `delivered` returns fields.
    case contents
    /// A repeated batch is accepted again, as after a crash that lost the verdicts. With ``Claim/keepsOnce``, the
    /// provider has each event once.
    case repetition
    /// A batch is repeated to a new provider after the first was shut down, as after a crash of the process.
    case restart
    /// Text in every script, with NUL and 64 KiB long; the smallest and largest numbers; NaN; times beyond the
    /// calendar; deep nesting; repeated and empty names. Each event gets a verdict, without an error, and other events
    /// are not affected.
    case extremeValues
    /// A batch of 10,000 events.
    case largeBatch
    /// Users are associated and disassociated between events, in order with the events if `delivered` shows
    /// associations.
    case associations
    /// A call whose task is cancelled ends, the provider has the accepted events, and the next call works.
    case cancellation
    /// The shutdown ends, and the provider still has the accepted events.
    case shutdown
  }

  /// A promise of a provider beyond the protocol. Leave out a claim that the provider can't promise.
  public enum Claim: Hashable, Sendable, CaseIterable {
    /// The provider has events in the order in which they were given.
    case keepsOrder
    /// The provider has a repeated event once: it recognises the event's id.
    case keepsOnce
  }

  /// An entry that a provider has.
  public enum Entry: Hashable, Sendable {
    /// An event, with its fields if the provider can return them.
    case event(EventID, fields: FieldObject? = nil)
    /// A user was associated. The value is the user's id.
    case associated(String)
    /// The user was disassociated.
    case disassociated
  }

  /// A requirement that a provider does not fulfil.
  public struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// The check that found the problem.
    public let check: Check

    /// The problem.
    public let message: String

    public var description: String { "\(check.rawValue): \(message)" }
  }

  /// All findings.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The findings, in the order of the checks. Not empty.
    public let findings: [Finding]

    public var description: String {
      "the provider does not fulfil the requirements:\n" + findings.map { "- \($0)\n" }.joined()
    }
  }

  /// Runs the checks, by default all. Throws a ``Failure`` with all findings if there are any.
  ///
  /// - Parameters:
  ///   - checks: The checks to run.
  ///   - claims: The promises of the provider, by default all.
  ///   - unacceptable: The name and fields of an event that the provider must reject. Without it,
  ///     ``Check/verdictOrder`` is skipped.
  ///   - patience: The maximum duration of a check. A check that takes longer counts as hanging.
  ///   - makeProvider: Makes a provider, as the program does when it starts. Called for each check, and again for a
  ///     restart.
  ///   - delivered: Returns what the provider has.
  public static func check<P: Provider>(
    _ checks: Set<Check> = Set(Check.allCases), claims: Set<Claim> = [.keepsOrder, .keepsOnce],
    unacceptable: (name: String, fields: FieldObject)? = nil, patience: Duration = .seconds(60),
    makeProvider: @escaping @Sendable () async throws -> P,
    delivered: (@Sendable (P) async throws -> [Entry])? = nil
  ) async throws {
    let findings = await findings(
      checks, claims: claims, unacceptable: unacceptable, patience: patience, makeProvider: makeProvider,
      delivered: delivered)
    if !findings.isEmpty { throw Failure(findings: findings) }
  }

  /// Runs the checks, and returns the findings in the order of the checks. For the parameters, see
  /// ``check(_:claims:unacceptable:patience:makeProvider:delivered:)``.
  public static func findings<P: Provider>(
    _ checks: Set<Check> = Set(Check.allCases), claims: Set<Claim> = [.keepsOrder, .keepsOnce],
    unacceptable: (name: String, fields: FieldObject)? = nil, patience: Duration = .seconds(60),
    makeProvider: @escaping @Sendable () async throws -> P,
    delivered: (@Sendable (P) async throws -> [Entry])? = nil
  ) async -> [Finding] {
    await findings(
      checks, claims: claims, unacceptable: unacceptable, patience: patience, makeProvider: makeProvider,
      delivered: delivered, timer: { try await Task.sleep(for: patience) })
  }

  /// Runs the checks. A check that takes longer than `timer` counts as hanging, so tests can control the patience.
  static func findings<P: Provider>(
    _ checks: Set<Check>, claims: Set<Claim>, unacceptable: (name: String, fields: FieldObject)?, patience: Duration,
    makeProvider: @escaping @Sendable () async throws -> P, delivered: (@Sendable (P) async throws -> [Entry])?,
    timer: @escaping @Sendable () async throws -> Void
  ) async -> [Finding] {
    let notes = Notes()
    for check in Check.allCases where checks.contains(check) && (check != .verdictOrder || unacceptable != nil) {
      // Further checks would only repeat the finding.
      if notes.has(.setup) || notes.has(.delivery) { break }
      let trial = Trial(
        check: check, claims: claims, unacceptable: unacceptable, notes: notes, make: makeProvider, look: delivered)
      guard let rest = await result(within: timer, of: { await trial.run() }) else {
        notes.add(Finding(check: check, message: "a call has not returned after \(patience)"))
        continue
      }
      guard let provider = rest else { continue }
      if await result(within: timer, of: { await provider.shutdown() }) == nil {
        // It would hang after every check.
        notes.add(Finding(check: .shutdown, message: "the shutdown has not returned after \(patience)"))
        break
      }
    }
    return notes.inOrder
  }

  /// Runs `body` in a separate task, so that a hanging call does not block the suite. If `body` takes too long, cancels
  /// the task without waiting for it, and returns `nil`.
  private static func result<Result: Sendable>(
    within timer: @escaping @Sendable () async throws -> Void, of body: @escaping @Sendable () async -> Result
  ) async -> Result? {
    let (ends, end) = AsyncStream.makeStream(of: Result?.self)
    let run = Task { end.yield(await body()) }
    let alarm = Task {
      try await timer()
      end.yield(nil)
    }
    defer {
      run.cancel()
      alarm.cancel()
    }
    for await result in ends { return result }
    return nil
  }

  /// The findings so far, without duplicates.
  final class Notes: Sendable {
    private let findings = Lock<[Finding]>([])

    func add(_ finding: Finding) {
      findings.withLock { if !$0.contains(finding) { $0.append(finding) } }
    }

    func has(_ check: Check) -> Bool {
      findings.withLock { $0.contains { $0.check == check } }
    }

    var inOrder: [Finding] {
      let order = Check.allCases
      return findings.withLock { $0 }.enumerated().sorted { left, right in
        (order.firstIndex(of: left.element.check) ?? 0, left.offset)
          < (order.firstIndex(of: right.element.check) ?? 0, right.offset)
      }.map(\.element)
    }
  }
}

// ProviderConformance: the suite that the author of a provider runs against it.

public import Weir
public import WeirDelivery

/// Whether a provider keeps to what ``Provider`` asks of it: for the author of one, in its tests.
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
/// In XCTest it is the same. What is found is thrown as one ``Failure`` that lists it all;
/// ``findings(_:claims:unacceptable:patience:makeProvider:delivered:)`` answers it as values instead.
///
/// Each ``Check`` makes a provider of its own, sets it up, tries it, and shuts it down; calls never overlap, as in
/// delivery. It gives events that no other check gives, so the checks may share a provider. An event that is to be
/// retried, because of its verdict or because the call threw, is given again at once, five times at most. Where no
/// provider can be set up, or ordinary events are not delivered, the checks after that are left out.
///
/// **`delivered`** tells what the provider has, oldest first: without it the suite can only look at verdicts. What
/// else is there does not matter. Where a provider shows what it has only after a while, the closure waits for it.
public enum ProviderConformance {
  /// What is checked.
  public enum Check: String, CaseIterable, Hashable, Sendable {
    /// The name has letters, digits, `-` and `_` alone, and two providers of one kind have the same: it names the
    /// cursor.
    case name
    /// A provider can be set up.
    case setup
    /// Ordinary events are accepted, one at a time and together, and what is answered ``Verdict/accepted`` is there.
    case delivery
    /// There is a verdict for each event.
    case verdictCount
    /// Verdicts are in the order of the events: the one for the event given as `unacceptable` is at its place, wherever
    /// that is, and a rejected event is not there.
    case verdictOrder
    /// A rejection has a reason, and the time to a retry is not negative.
    case verdictValues
    /// No events are no trouble: no verdicts, no error.
    case emptyBatch
    /// Events are there in the order given, over several batches. ``Claim/keepsOrder``.
    case order
    /// What is there is what was given, if `delivered` tells fields.
    case contents
    /// A batch that comes again is accepted again: its verdicts were lost with the process. With ``Claim/keepsOnce`` it
    /// is there once.
    case repetition
    /// The same, to a new provider after the first was shut down, as after a crash of the process.
    case restart
    /// Text in every script, with NUL and 64 KiB long, the smallest and the largest numbers, not-a-number, times beyond
    /// the calendar, deep nesting, names twice and empty: a verdict for each, no error, and no harm to others.
    case extremeValues
    /// A batch of 10,000 events.
    case largeBatch
    /// Users come and go between events; in order with them, if `delivered` tells.
    case associations
    /// A call whose task is cancelled ends, what it accepted is there, and the next call works.
    case cancellation
    /// Shutting down ends, and what was accepted is there afterwards.
    case shutdown
  }

  /// What a provider promises beyond the protocol. One that can't promise something leaves it out.
  public enum Claim: Hashable, Sendable, CaseIterable {
    /// The provider has events in the order in which they were given.
    case keepsOrder
    /// An event that comes again, which it may, is there once: it is recognised by its id.
    case keepsOnce
  }

  /// Something that a provider has.
  public enum Entry: Hashable, Sendable {
    /// An event, with its fields if the provider can tell.
    case event(EventID, fields: FieldObject? = nil)
    /// A user was associated: the user's id.
    case associated(String)
    /// The user was disassociated.
    case disassociated
  }

  /// One way in which a provider does not keep to the protocol.
  public struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// The check that found it.
    public let check: Check

    /// What is wrong.
    public let message: String

    public var description: String { "\(check.rawValue): \(message)" }
  }

  /// All that was found.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// In the order of the checks; not empty.
    public let findings: [Finding]

    public var description: String {
      "the provider does not keep to the protocol:\n" + findings.map { "- \($0)\n" }.joined()
    }
  }

  /// Runs the checks, all unless told; throws a ``Failure`` with all findings if there are any.
  ///
  /// - Parameters:
  ///   - checks: Those to run.
  ///   - claims: What the provider promises; everything unless told.
  ///   - unacceptable: An event's name and fields that the provider must reject. Without one ``Check/verdictOrder`` is
  ///     left out.
  ///   - patience: How long a check may take before it is given up as hanging.
  ///   - makeProvider: Makes a provider as the program does at its start. Called for each check, and again for a
  ///     restart.
  ///   - delivered: What the provider has.
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

  /// Runs the checks; answers what was found, in the order of the checks. Parameters as for
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

  /// The same; what takes longer than `timer` is not over. Tests say with it when the patience ends.
  static func findings<P: Provider>(
    _ checks: Set<Check>, claims: Set<Claim>, unacceptable: (name: String, fields: FieldObject)?, patience: Duration,
    makeProvider: @escaping @Sendable () async throws -> P, delivered: (@Sendable (P) async throws -> [Entry])?,
    timer: @escaping @Sendable () async throws -> Void
  ) async -> [Finding] {
    let notes = Notes()
    for check in Check.allCases where checks.contains(check) && (check != .verdictOrder || unacceptable != nil) {
      // All further checks would only say the same.
      if notes.has(.setup) || notes.has(.delivery) { break }
      let trial = Trial(
        check: check, claims: claims, unacceptable: unacceptable, notes: notes, make: makeProvider, look: delivered)
      guard let rest = await result(within: timer, of: { await trial.run() }) else {
        notes.add(Finding(check: check, message: "not over after \(patience): a call never returned"))
        continue
      }
      guard let provider = rest else { continue }
      if await result(within: timer, of: { await provider.shutdown() }) == nil {
        // It would be the same after every check.
        notes.add(Finding(check: .shutdown, message: "not over after \(patience)"))
        break
      }
    }
    return notes.inOrder
  }

  /// Runs `body` in a task of its own, for a call that hangs must not take the suite with it. Nil if it took too long;
  /// then it is cancelled, and left to itself.
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

  /// What was found so far, each finding once.
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

// Sampling: events that are left out on purpose, chosen by user.

import CCapture
import Synchronization

/// How much of an event is captured; the rest is dropped as ``DropReason/sampled``, and counted.
///
/// ```swift
/// configuration.sampling = [
///   SamplingRule("checkout.started", rate: 1),   // all of these,
///   SamplingRule(Checkout.self, rate: 0.1),      // a tenth of the type's other events,
///   SamplingRule("page.scrolled", rate: 0.01),   // and of an event without a type
/// ]
/// ```
///
/// The first rule that an event matches counts; one that matches none is captured.
///
/// **By user.** An event with a user (that of ``Bindings``, or else ``Tracker/user``) is
/// captured if the user's id is among the rate's share: the same users in every process, today and tomorrow, for all
/// events of one rate, and at a higher rate the same ones and others. The id's UTF-8 is hashed by FNV-1a in 64 bits,
/// and that by the finaliser of MurmurHash3 (`fmix64`); the user is in if the result, of 2^64, is below the rate.
///
/// **Without a user** each event is chosen for itself, evenly, by nothing that is in it.
///
/// Cost: nothing for events whose type has no rule, a comparison for those without a type and of `Codable` types; some
/// nanoseconds for those that have one. An event is encoded before it is left out, so that one which disagrees with its
/// declaration is still found.
public struct SamplingRule: Sendable, Hashable {
  /// The share that is captured: 0 for none to 1 for all. Another number, or none, is refused at opening as `invalid`.
  public var rate: Double

  /// The event's name, or the type.
  let event: String?
  let type: ObjectIdentifier?

  /// A rule for the event of this name, of whichever type, or without one.
  public init(_ event: String, rate: Double) {
    self.event = event
    type = nil
    self.rate = rate
  }

  /// A rule for all events of a type.
  public init<E: Event>(_ type: E.Type, rate: Double) {
    event = nil
    self.type = ObjectIdentifier(type)
    self.rate = rate
  }
}

/// The hash of a user's id that sampling goes by.
enum SamplingKey {
  /// Never 0, which stands for nobody.
  static func of(_ id: String) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in id.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return max(mixed(hash), 1)
  }

  /// MurmurHash3's finaliser: FNV's upper bits hardly differ between short texts.
  static func mixed(_ number: UInt64) -> UInt64 {
    var hash = (number ^ number >> 33) &* 0xff51_afd7_ed55_8ccd
    hash = (hash ^ hash >> 33) &* 0xc4ce_b9fe_1a85_ec53
    return hash ^ hash >> 33
  }
}

/// A tracker's rules. Memory of its own that never moves, so that captures need not retain it; freed with the tracker.
/// Sendable because the rules never change, and all else there is atomic.
struct Sampler: @unchecked Sendable {
  private let state: UnsafeMutablePointer<State>

  private struct State: ~Copyable {
    let rules: [SamplingRule]
    /// By a type's number: what ``threshold(_:)`` answers for the event, and one more; 0 until it is looked up.
    let thresholds: UnsafeMutablePointer<Atomic<UInt64>>
    /// By a lane's number: events chosen for themselves so far.
    let turns: UnsafeMutablePointer<Atomic<UInt64>>
  }

  /// Numbers of types are below it; a test compares it with the core's.
  static let typeLimit = 8192
  static let laneLimit = 256
  /// Turns of different lanes lie in different cache lines.
  private static let turnStride = 8

  /// Nil without rules. Throws `invalid` for a rate that is none.
  init?(_ rules: [SamplingRule]) throws(WeirError) {
    for rule in rules where !(0...1).contains(rule.rate) {
      throw WeirError(
        .invalid, "a rule of sampling has the rate \(rule.rate); it must be from 0, for none, to 1, for all")
    }
    guard !rules.isEmpty else { return nil }
    func zeros(_ count: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
      let words = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: count)
      for index in 0..<count { (words + index).initialize(to: Atomic(0)) }
      return words
    }
    state = .allocate(capacity: 1)
    state.initialize(
      to: State(
        rules: rules, thresholds: zeros(Self.typeLimit), turns: zeros(Self.laneLimit * Self.turnStride)))
  }

  /// No capture may be in progress or follow.
  func free() {
    state.pointee.thresholds.deinitialize(count: Self.typeLimit).deallocate()
    state.pointee.turns.deinitialize(count: Self.laneLimit * Self.turnStride).deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Whether an event has a rule. `type` is nil for an event without a type.
  func samples(_ event: String, of type: ObjectIdentifier?) -> Bool {
    rule(event, type) != nil
  }

  private func rule(_ event: String, _ type: ObjectIdentifier?) -> SamplingRule? {
    state.pointee.rules.first { $0.event == event || $0.type != nil && $0.type == type }
  }

  /// Whether to capture an event that is about to be committed. `userKey` is 0 for nobody. Costs a look through the
  /// rules for a type's first event only; `name` is asked for then.
  func keeps(
    _ record: borrowing weir_record, userKey: UInt64, number: UInt32, of type: ObjectIdentifier, name: () -> String
  ) -> Bool {
    let known = state.pointee.thresholds + Int(number) % Self.typeLimit
    var threshold = known.pointee.load(ordering: .relaxed)
    if threshold == 0 {
      threshold = Self.threshold(rule(name(), type)?.rate ?? 1) + 1
      known.pointee.store(threshold, ordering: .relaxed)
    }
    return isBelow(threshold - 1, record, userKey)
  }

  /// The same for an event without a type.
  func keeps(_ record: borrowing weir_record, userKey: UInt64, event: String) -> Bool {
    guard let rule = rule(event, nil) else { return true }
    return isBelow(Self.threshold(rule.rate), record, userKey)
  }

  /// The rate in 63 bits, so that all of them are one more than the largest.
  static func threshold(_ rate: Double) -> UInt64 {
    UInt64(rate * 0x1p63)
  }

  private func isBelow(_ threshold: UInt64, _ record: borrowing weir_record, _ userKey: UInt64) -> Bool {
    (userKey != 0 ? userKey : turn(record)) >> 1 < threshold
  }

  /// A number for an event without a user: of the opening, the lane and how many such there were in it. (Not of the
  /// position in the lane, which stays where it is when an event is left out: so would all that follow.)
  private func turn(_ record: borrowing weir_record) -> UInt64 {
    let lane = record.lane.pointee.id_bits
    let count = state.pointee.turns + Int(lane >> 48) % Self.laneLimit * Self.turnStride
    // A lane has one thread at a time, and a capture within another one has another lane.
    let turn = count.pointee.load(ordering: .relaxed)
    count.pointee.store(turn &+ 1, ordering: .relaxed)
    return SamplingKey.mixed(record.lane.pointee.log.pointee.opening ^ lane ^ SamplingKey.mixed(turn))
  }
}

// Sampling: which events are left out on purpose, chosen by user.

import CCapture
import Synchronization

/// The share of an event's captures that is kept. The others are dropped as ``DropReason/sampled``, and counted.
///
/// ```swift
/// configuration.sampling = [
///   SamplingRule("checkout.started", rate: 1),   // all of these,
///   SamplingRule(Checkout.self, rate: 0.1),      // a tenth of the type's other events,
///   SamplingRule("page.scrolled", rate: 0.01),   // and of an event without a type
/// ]
/// ```
///
/// The first rule that matches an event applies. An event that matches no rule is captured.
///
/// **Events with a user.** The user is the one bound by ``Bindings``, or else ``Tracker/user``. Whether an event is
/// captured depends only on the user's id and the rate. The same users are chosen in every process, at any time, for
/// all events with the same rate, and a higher rate adds users to those of a lower rate. The id's UTF-8 is hashed with
/// 64-bit FNV-1a, and the hash is mixed with MurmurHash3's finaliser (`fmix64`). The user is chosen if the result,
/// divided by 2^64, is below the rate.
///
/// **Events without a user.** Each event is chosen by itself, evenly, independent of its content.
///
/// **Cost.** Events of a type without a rule cost nothing. Events without a type, and events of `Codable` types, cost a
/// comparison. Events with a rule cost some nanoseconds. An event is encoded before it is left out, so an event that
/// does not match its declaration is still found.
public struct SamplingRule: Sendable, Hashable {
  /// The share that is captured, from 0 (none) to 1 (all). Opening a tracker throws `invalid` for any other number.
  public var rate: Double

  /// The event's name, or `nil` if the rule is for a type.
  let event: String?
  let type: ObjectIdentifier?

  /// Creates a rule for the event with this name, whatever its type, and also for events without a type.
  public init(_ event: String, rate: Double) {
    self.event = event
    type = nil
    self.rate = rate
  }

  /// Creates a rule for all events of a type.
  public init<E: Event>(_ type: E.Type, rate: Double) {
    event = nil
    self.type = ObjectIdentifier(type)
    self.rate = rate
  }
}

/// The hash of a user's id that sampling compares with the rate.
enum SamplingKey {
  /// Never 0: 0 stands for no user.
  static func of(_ id: String) -> UInt64 {
    // The contiguous storage is read in half the time of the view.
    let hash = id.utf8.withContiguousStorageIfAvailable { FNV1a.hash64($0) } ?? FNV1a.hash64(id.utf8)
    return max(mixed(hash), 1)
  }

  /// MurmurHash3's finaliser. It is needed because FNV's upper bits hardly differ between short texts.
  static func mixed(_ number: UInt64) -> UInt64 {
    var hash = (number ^ number >> 33) &* 0xff51_afd7_ed55_8ccd
    hash = (hash ^ hash >> 33) &* 0xc4ce_b9fe_1a85_ec53
    return hash ^ hash >> 33
  }
}

/// A tracker's sampling rules. They lie in memory of their own that never moves, so captures need not retain them. The
/// memory is freed with the tracker. Sendable because the rules never change and the rest is atomic.
struct Sampler: @unchecked Sendable {
  private let state: UnsafeMutablePointer<State>

  private struct State: ~Copyable {
    let rules: [SamplingRule]
    /// By type number: ``threshold(_:)`` of the event plus 1, or 0 until the first look-up.
    let thresholds: UnsafeMutablePointer<Atomic<UInt64>>
    /// By lane number: the number of events without a user so far.
    let turns: UnsafeMutablePointer<Atomic<UInt64>>
  }

  /// The exclusive upper bound of type numbers. A test compares it with the core's.
  static let typeLimit = 8192
  static let laneLimit = 256
  /// The counters of different lanes lie in different cache lines.
  private static let turnStride = 8

  /// Returns `nil` without rules. Throws `invalid` for a rate outside of 0 to 1.
  init?(_ rules: [SamplingRule]) throws(WeirError) {
    for rule in rules where !(0...1).contains(rule.rate) {
      throw WeirError(
        .invalid, "a sampling rule has the rate \(rule.rate); the rate must be from 0 (none) to 1 (all)")
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

  /// Frees the rules. No capture may be in progress, or follow.
  func free() {
    state.pointee.thresholds.deinitialize(count: Self.typeLimit).deallocate()
    state.pointee.turns.deinitialize(count: Self.laneLimit * Self.turnStride).deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// Returns whether an event has a rule. `type` is `nil` for an event without a type.
  func samples(_ event: String, of type: ObjectIdentifier?) -> Bool {
    rule(event, type) != nil
  }

  private func rule(_ event: String, _ type: ObjectIdentifier?) -> SamplingRule? {
    state.pointee.rules.first { $0.event == event || $0.type != nil && $0.type == type }
  }

  /// Returns whether to capture an event that is about to be committed. `userKey` is 0 for no user. The rules are
  /// searched, and `name` is called, only at a type's first event.
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

  /// Returns whether to capture an event without a type.
  func keeps(_ record: borrowing weir_record, userKey: UInt64, event: String) -> Bool {
    guard let rule = rule(event, nil) else { return true }
    return isBelow(Self.threshold(rule.rate), record, userKey)
  }

  /// The rate as a 63-bit number. A rate of 1 becomes 2^63, which is above every 63-bit hash.
  static func threshold(_ rate: Double) -> UInt64 {
    UInt64(rate * 0x1p63)
  }

  private func isBelow(_ threshold: UInt64, _ record: borrowing weir_record, _ userKey: UInt64) -> Bool {
    (userKey != 0 ? userKey : turn(record)) >> 1 < threshold
  }

  /// Returns a number for an event without a user, made of the opening, the lane and the lane's count of such events.
  /// The position in the lane can't be used: it does not advance when an event is left out, so all following events
  /// would be left out too.
  private func turn(_ record: borrowing weir_record) -> UInt64 {
    let lane = record.lane.pointee.id_bits
    let count = state.pointee.turns + Int(lane >> 48) % Self.laneLimit * Self.turnStride
    // No atomic addition is needed: a lane has one thread at a time, and a nested capture uses another lane.
    let turn = count.pointee.load(ordering: .relaxed)
    count.pointee.store(turn &+ 1, ordering: .relaxed)
    return SamplingKey.mixed(record.lane.pointee.log.pointee.opening ^ lane ^ SamplingKey.mixed(turn))
  }
}

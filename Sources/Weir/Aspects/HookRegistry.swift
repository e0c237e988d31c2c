// HookRegistry: which hooks are attached to which join point, and when what was detached may be released.

public import CFiring
import Synchronization

/// The join points of the process that are known, and their hooks.
///
/// Attaching and detaching make a new table, store it at the join point, and hand the old one over to be released once
/// no thread can be reading it: see weir_firing.h.
@usableFromInline
enum HookRegistry {
  /// A join point that was attached to, or listed.
  struct Point: Sendable {
    var listed: JoinPointListing.JoinPoint
    var hooks: [AttachedHook] = []
    let overrides = Overrides()
  }

  /// A table that is not in force any more.
  private struct Retired: @unchecked Sendable {
    let table: Unmanaged<AnyObject>
    /// No thread reads it once all have passed this.
    let epoch: UInt64
  }

  private struct State: Sendable {
    /// By the address of their word.
    var points: [UInt: Point] = [:]
    var serial: UInt64 = 0
    var retired: [Retired] = []
    /// For the life of the process.
    var kept: [Hook] = []
    var isSearched = false
  }

  private static let state = ProcessLock(State())
  private static let missed = Atomic<UInt64>(0)

  // MARK: Attaching

  /// Puts a hook into force. In a child of a fork it is marked as detached instead.
  static func attach(_ hook: AttachedHook, at word: UnsafeRawPointer, _ listed: JoinPointListing.JoinPoint) {
    weir_firing_prepare()
    let isAttached = state.withLock { state in
      state.serial += 1
      hook.serial = state.serial
      var point = state.points[UInt(bitPattern: word)] ?? Point(listed: listed)
      point.hooks.append(hook)
      publish(point, hook, at: UInt(bitPattern: word), &state)
      return true
    }
    if isAttached == nil { _ = hook.markDetached() }
    releaseRetired()
  }

  /// Takes a hook out of force. When it returns the hook's advice runs nowhere, and never will again; on a thread that
  /// is firing itself, other threads may be about to end running it.
  static func detach(_ hook: AttachedHook?, at word: UInt) {
    if let hook, hook.markDetached() {
      _ = state.withLock { state in
        guard var point = state.points[word] else { return }
        point.hooks.removeAll { $0 === hook }
        publish(point, hook, at: word, &state)
      }
    }
    // Inside of a firing, to wait for the others would be to wait for each other, where two do this.
    guard weir_firing_postpone() == 0 else { return }
    weir_firing_wait(weir_firing_retire())
    releaseRetired()
  }

  /// A descriptor ends: its hooks go with it.
  @usableFromInline
  static func forget(_ word: UnsafeRawPointer) {
    // The address may become another descriptor's.
    let hooks = state.withLock { $0.points[UInt(bitPattern: word)]?.hooks ?? [] } ?? []
    for hook in hooks { detach(hook, at: UInt(bitPattern: word)) }
    _ = state.withLock { $0.points.removeValue(forKey: UInt(bitPattern: word)) }
  }

  private static func publish(_ point: Point, _ hook: AttachedHook, at address: UInt, _ state: inout State) {
    guard let word = UnsafeRawPointer(bitPattern: address) else { return }
    state.points[address] = point
    let table = point.hooks.isEmpty ? nil : hook.makeTable(point.hooks, point.overrides)
    let old = word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.exchange(
      UInt(bitPattern: table), ordering: .sequentiallyConsistent)
    guard let old = UnsafeRawPointer(bitPattern: old) else { return }
    state.retired.append(Retired(table: .fromOpaque(old), epoch: weir_firing_retire()))
  }

  // MARK: Releasing

  /// Releases the tables that no thread can be reading any more, outside of the lock: what advice holds ends with them,
  /// and may attach and detach.
  private static func releaseRetired() {
    let passed = state.withLock { state in
      let passed = state.retired.filter { weir_firing_passed($0.epoch) != 0 }
      state.retired.removeAll { retired in passed.contains { $0.epoch == retired.epoch } }
      return passed
    }
    for retired in passed ?? [] { retired.table.release() }
  }

  /// Called at the end of a firing in which something was detached.
  @usableFromInline
  static func releaseDetached(_ firing: UnsafeMutablePointer<weir_firing>) {
    guard firing.pointee.depth == 0 else { return }
    firing.pointee.pending = 0
    releaseRetired()
  }

  // MARK: Keeping, counting, listing

  static func keep(_ hook: Hook) {
    _ = state.withLock { $0.kept.append(hook) }
  }

  static func letGo(_ hook: Hook) {
    let found = state.withLock { state in
      let found = state.kept.filter { $0 === hook }
      state.kept.removeAll { $0 === hook }
      return found
    }
    withExtendedLifetime(found) {}
  }

  /// A call whose hooks could not fire, because there was no memory for the thread's record.
  static func noteMissed() {
    missed.wrappingAdd(1, ordering: .relaxed)
  }

  static var missedCount: UInt64 { missed.load(ordering: .relaxed) }

  /// A join point that is declared, whether anybody listens or not.
  static func declare(_ listed: JoinPointListing.JoinPoint, at word: UnsafeRawPointer) {
    _ = state.withLock { state in
      if state.points[UInt(bitPattern: word)] == nil { state.points[UInt(bitPattern: word)] = Point(listed: listed) }
    }
  }

  /// All that is known, those that are declared in the executable among it.
  static func points() -> [Point] {
    let isSearched = state.withLock { state in
      defer { state.isSearched = true }
      return state.isSearched
    }
    if isSearched == false {
      for index in 0..<weir_join_point_count() { weir_join_point_at(index)?(nil) }
    }
    return state.withLock { Array($0.points.values) } ?? []
  }
}

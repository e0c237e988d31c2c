// HookRegistry: which hooks are attached to which join point, and when what was detached may be released.

import CFiring
import Synchronization
import Weir

/// The join points of the process that are known, and their hooks.
///
/// Attaching and detaching make a new table, store it at the join point, and hand the old one over to be released once
/// no thread can be reading it: see weir_firing.h.
@usableFromInline
enum HookRegistry {
  /// A join point that was attached to, or listed.
  struct Point: Sendable {
    var listed: JoinPointListing.Entry
    var hooks: [AttachedHook] = []
    /// The address of the table in force, as in the join point's word.
    var table: UInt = 0
    let overrides = Overrides()
  }

  /// What no call can come to any more, but may still be reading.
  private struct Retired: Sendable {
    enum What: @unchecked Sendable {
      /// A table that is not in force any more. To be released.
      case table(Unmanaged<AnyObject>)
      /// A hook that was detached by advice. Its advice is to be let go.
      case hook(AttachedHook)
    }
    let what: What
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
  static func attach(_ hook: AttachedHook, at word: UnsafeRawPointer, _ listed: JoinPointListing.Entry) {
    weir_firing_prepare()
    let isAttached = state.withLock { state in
      state.serial += 1
      hook.serial = state.serial
      var point = state.points[UInt(bitPattern: word)] ?? Point(listed: listed)
      // One without hooks may have ended, and its place be another one's.
      if point.hooks.isEmpty && point.listed != listed { point = Point(listed: listed) }
      point.hooks.append(hook)
      publish(point, at: word, &state)
      return true
    }
    if isAttached == nil { _ = hook.markDetached() }
    if weir_firing_postpone() == 0 { releaseRetired() }
  }

  /// Takes a hook out of force. If it waits, then when it returns the hook's advice runs nowhere, and never will again,
  /// and what it held is released; else, and on a thread that is firing itself, other threads may be about to end
  /// running it.
  static func detach(_ hook: AttachedHook, at word: UInt, waits: Bool) {
    let isFirst = hook.markDetached()
    if isFirst {
      _ = state.withLock { state in
        // Gone with its descriptor, at whose address there may be another one by now.
        guard var point = state.points[word], let index = point.hooks.firstIndex(where: { $0 === hook }),
          let word = UnsafeRawPointer(bitPattern: word)
        else { return }
        point.hooks.remove(at: index)
        publish(point, at: word, &state)
      }
    }
    letGo(isFirst ? [hook] : [], waits: waits)
  }

  /// A descriptor ends: its hooks go with it. It is known by its table, for as it ends it may lie elsewhere.
  @usableFromInline
  static func forget(_ table: UInt, at word: UnsafeRawPointer) {
    let hooks = state.withLock { state in
      let found = state.points.first { table == 0 ? $0.key == UInt(bitPattern: word) : $0.value.table == table }
      guard let (address, point) = found, point.table == table else { return [AttachedHook]() }
      // From here on nobody writes to its word, which is not there any more.
      state.points[address] = nil
      retire(point.table, &state)
      return point.hooks
    }
    guard let hooks, !hooks.isEmpty else { return }
    letGo(hooks.filter { $0.markDetached() }, waits: true)
  }

  /// Lets go of the advice of hooks that this thread took out of force: now, or when all that fires now has ended.
  private static func letGo(_ hooks: [AttachedHook], waits: Bool) {
    // Inside of a firing, to wait for the others would be to wait for each other, where two do this.
    let isFiring = weir_firing_postpone() != 0
    if waits && !isFiring {
      weir_firing_wait(weir_firing_retire())
      for hook in hooks { hook.dropAdvice() }
      return releaseRetired()
    }
    guard !hooks.isEmpty else { return }
    // In a child of a fork nothing is noted: the table there has the hook for ever, and the hook what it holds.
    _ = state.withLock { state in
      for hook in hooks { state.retired.append(Retired(what: .hook(hook), epoch: weir_firing_retire())) }
    }
    if !isFiring { releaseRetired(ask: true) }
  }

  private static func publish(_ point: Point, at word: UnsafeRawPointer, _ state: inout State) {
    var point = point
    let table = UInt(bitPattern: point.hooks.first?.makeTable(point.hooks, point.overrides))
    point.table = table
    state.points[UInt(bitPattern: word)] = point
    let old = word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.exchange(
      table, ordering: .sequentiallyConsistent)  // F1, F3
    retire(old, &state)
  }

  /// After the new table was stored.
  private static func retire(_ table: UInt, _ state: inout State) {
    guard let table = UnsafeRawPointer(bitPattern: table) else { return }
    state.retired.append(Retired(what: .table(.fromOpaque(table)), epoch: weir_firing_retire()))
  }

  // MARK: Releasing

  /// Releases what no thread can be reading any more, outside of the lock: what advice holds ends with it, and may
  /// attach and detach.
  private static func releaseRetired(ask: Bool = false) {
    let reached = weir_firing_reach(ask ? 1 : 0)
    let passed = state.withLock { state in
      let passed = state.retired.filter { $0.epoch <= reached }
      if !passed.isEmpty { state.retired.removeAll { $0.epoch <= reached } }
      return passed
    }
    for retired in passed ?? [] {
      switch retired.what {
      case .table(let table): table.release()
      case .hook(let hook): hook.dropAdvice()
      }
    }
  }

  /// Called at the end of a firing in which something was detached, or by the end of which something waits. Threads
  /// that fire still are asked to do the same.
  @usableFromInline
  @inline(never)
  static func releaseDetached() {
    releaseRetired(ask: true)
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
  static func declare(_ listed: JoinPointListing.Entry, at word: UnsafeRawPointer) {
    _ = state.withLock { state in
      if state.points[UInt(bitPattern: word)] == nil { state.points[UInt(bitPattern: word)] = Point(listed: listed) }
    }
  }

  /// All that is known, those that are declared in the executable among it.
  static func points() -> [Point] {
    if state.withLock({ $0.isSearched }) == false {
      for index in 0..<weir_join_point_count() { weir_join_point_at(index)?(nil) }
      // Only now: two that look at once both search, and neither sees the half of it.
      _ = state.withLock { $0.isSearched = true }
    }
    return state.withLock { Array($0.points.values) } ?? []
  }
}

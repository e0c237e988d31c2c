// HookRegistry: the hooks of each join point, and when a detached hook may be released.

import CFiring
import Synchronization
import Weir

/// The known join points of the process, and their hooks.
///
/// Attaching and detaching make a new table and store the table's address in the join point. The old table is released
/// when no thread can be reading the old table any more: see weir_firing.h.
@usableFromInline
enum HookRegistry {
  /// A join point to which a hook was attached, or that was listed.
  struct Point: Sendable {
    var listed: JoinPointListing.Entry
    var hooks: [AttachedHook] = []
    /// The address of the current table, as in the join point's word.
    var table: UInt = 0
    let overrides = Overrides()
  }

  /// An object that new calls can't reach, but that running calls may still be reading.
  private struct Retired: Sendable {
    enum What: @unchecked Sendable {
      /// A table that was replaced, to be released.
      case table(Unmanaged<AnyObject>)
      /// A hook that was detached without waiting, whose advice is to be released.
      case hook(AttachedHook)
    }
    let what: What
    /// The epoch after which no thread reads the object.
    let epoch: UInt64
  }

  private struct State: Sendable {
    /// The join points, by the address of their word.
    var points: [UInt: Point] = [:]
    var serial: UInt64 = 0
    var retired: [Retired] = []
    /// The hooks that are kept for the life of the process.
    var kept: [Hook] = []
    var isSearched = false
  }

  private static let state = ProcessLock(State())
  private static let missed = Atomic<UInt64>(0)

  // MARK: Attaching

  /// Attaches a hook. In a forked child, the hook is marked as detached instead.
  static func attach(_ hook: AttachedHook, at word: UnsafeRawPointer, _ listed: JoinPointListing.Entry) {
    weir_firing_prepare()
    let isAttached = state.withLock { state in
      state.serial += 1
      hook.serial = state.serial
      var point = state.points[UInt(bitPattern: word)] ?? Point(listed: listed)
      // A join point without hooks may have ended, and another join point may have its address.
      if point.hooks.isEmpty && point.listed != listed { point = Point(listed: listed) }
      point.hooks.append(hook)
      publish(point, at: word, &state)
      return true
    }
    if isAttached == nil { _ = hook.markDetached() }
    if weir_firing_postpone() == 0 { releaseRetired() }
  }

  /// Detaches a hook. If the call waits, then on return the hook's advice runs nowhere and will never run again, and
  /// the objects that the advice held are released. Without waiting, and on a thread that is firing itself, other
  /// threads may still be running the advice.
  static func detach(_ hook: AttachedHook, at word: UInt, waits: Bool) {
    let isFirst = hook.markDetached()
    if isFirst {
      _ = state.withLock { state in
        // The hook may have gone with its descriptor, whose address another descriptor may have by now.
        guard var point = state.points[word], let index = point.hooks.firstIndex(where: { $0 === hook }),
          let word = UnsafeRawPointer(bitPattern: word)
        else { return }
        point.hooks.remove(at: index)
        publish(point, at: word, &state)
      }
    }
    letGo(isFirst ? [hook] : [], waits: waits)
  }

  /// Detaches the hooks of a descriptor that ends. The descriptor is identified by its table, because the descriptor
  /// may have been moved.
  @usableFromInline
  static func forget(_ table: UInt, at word: UnsafeRawPointer) {
    let hooks = state.withLock { state in
      let found = state.points.first { table == 0 ? $0.key == UInt(bitPattern: word) : $0.value.table == table }
      guard let (address, point) = found, point.table == table else { return [AttachedHook]() }
      // From here on nobody writes to the descriptor's word, which no longer exists.
      state.points[address] = nil
      retire(point.table, &state)
      return point.hooks
    }
    guard let hooks, !hooks.isEmpty else { return }
    letGo(hooks.filter { $0.markDetached() }, waits: true)
  }

  /// Releases the advice of hooks that this thread detached: now, or when all current firings have ended.
  private static func letGo(_ hooks: [AttachedHook], waits: Bool) {
    // Inside of a firing, two threads that wait for all firings would wait for each other.
    let isFiring = weir_firing_postpone() != 0
    if waits && !isFiring {
      weir_firing_wait(weir_firing_retire())
      for hook in hooks { hook.dropAdvice() }
      return releaseRetired()
    }
    guard !hooks.isEmpty else { return }
    // In a forked child nothing is noted: the table retains the hook for ever, and the hook retains its advice.
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

  /// Retires a table. Call this after the new table was stored.
  private static func retire(_ table: UInt, _ state: inout State) {
    guard let table = UnsafeRawPointer(bitPattern: table) else { return }
    state.retired.append(Retired(what: .table(.fromOpaque(table)), epoch: weir_firing_retire()))
  }

  // MARK: Releasing

  /// Releases the tables and the advice that no thread can be reading any more. Releases outside of the lock, because
  /// the deinitialisers of objects that advice holds may attach and detach hooks.
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

  /// Called at the end of a firing in which a hook was detached, or for whose end a release waits. Asks the threads
  /// that are still firing to do the same.
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

  /// Counts a call that could not fire its hooks, because there was no memory for the thread's record.
  static func noteMissed() {
    missed.wrappingAdd(1, ordering: .relaxed)
  }

  static var missedCount: UInt64 { missed.load(ordering: .relaxed) }

  /// Notes a declared join point, with or without hooks.
  static func declare(_ listed: JoinPointListing.Entry, at word: UnsafeRawPointer) {
    _ = state.withLock { state in
      if state.points[UInt(bitPattern: word)] == nil { state.points[UInt(bitPattern: word)] = Point(listed: listed) }
    }
  }

  /// All known join points, including those that the executable declares.
  static func points() -> [Point] {
    if state.withLock({ $0.isSearched }) == false {
      for index in 0..<weir_join_point_count() { weir_join_point_at(index)?(nil) }
      // Set after the search: if two threads list at once, both search, and neither gets an incomplete list.
      _ = state.withLock { $0.isSearched = true }
    }
    return state.withLock { Array($0.points.values) } ?? []
  }
}

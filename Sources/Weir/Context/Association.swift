// Association: the tracker's default user and global fields, which hold where nothing else is bound.

import Synchronization

/// What holds for every event of a tracker, as it was last set.
struct ProcessContext {
  var globals = GlobalFields()
  var user: EventUser?
  /// Names of the user's traits.
  var sensitiveTraits: Set<String> = []
  /// Counts the changes.
  var version: UInt64 = 0

  /// As the log stores it; empty for nothing.
  fileprivate func bytes() throws(WeirError) -> [UInt8] {
    let object = ContextBytes.global(
      fields: globals.object, user: user, sensitive: globals.sensitive.union(sensitiveTraits))
    guard !object.isEmpty else { return [] }
    guard let bytes = object.taggedBytes(), bytes.count <= LogHandle.maximumContextBytes else {
      throw WeirError(
        .limit,
        "global fields and user take over \(LogHandle.maximumContextBytes) bytes, or are nested over "
          + "\(maximumDepth - 2) deep; keep the large ones out, or put them into events")
    }
    return bytes
  }
}

extension Tracker {
  /// What holds for every event from here on. Changed by ``setGlobals(_:)`` and ``updateGlobals(_:)``.
  public var globals: GlobalFields { context.withLock { $0.globals } ?? GlobalFields() }

  /// Sets what holds for every event from here on: for all that this thread captures after the call, and for what other
  /// threads capture once they know of it.
  ///
  /// Stored in the log once, and before the call returns, so that it survives what the events survive; each event
  /// carries its number. Meant for what changes seldom: the global contexts of one opening take 128 KiB at most, and
  /// the other half of the room for definitions is for types; setting what was set before takes none. What changes with
  /// each request is for ``Bindings``.
  ///
  /// Throws `limit` (over 16 KiB, nested over 14 deep, or no room for definitions any more) or `closed`; then nothing
  /// has changed. Takes a lock, from any thread.
  public func setGlobals(_ globals: GlobalFields) throws(WeirError) {
    try changeContext { $0.globals = globals }
  }

  /// Changes what holds for every event from here on.
  ///
  /// ```swift
  /// try tracker.updateGlobals { $0.consent = "statistics" }
  /// ```
  ///
  /// `change` may be called again, if another thread changed them meanwhile. Throws as ``setGlobals(_:)`` does.
  public func updateGlobals(_ change: (inout GlobalFields) -> Void) throws(WeirError) {
    while true {
      guard let (before, version) = context.withLock({ ($0.globals, $0.version) }) else { throw detached }
      var globals = before
      // Outside of the lock, so that it may ask the tracker whatever it wants to.
      change(&globals)
      let isChanged = try changeContext(ifStill: version) { $0.globals = globals }
      if isChanged { return }
    }
  }

  /// The default user: of events that are captured where no user is bound (``Bindings``).
  public var user: EventUser? { context.withLock { $0.user } ?? nil }

  /// Makes `id` the default user, of all events from here on that are captured where no user is bound: in a program
  /// that has one user at a time. Servers bind users to their requests: ``Bindings``.
  ///
  /// Also captures an event `weir.associated` with the fields `user` and `traits`, so that readers and providers learn
  /// of it in order with the other events: ``StoredEvent/association``. All that this thread captures after the call
  /// has the user; what other threads capture meanwhile has the one or the other. `sensitive` names traits that must
  /// not leave the process as they are.
  ///
  /// Throws `limit` and `closed` as ``setGlobals(_:)`` does; and `timeout` or `noSpace` if the event could not be
  /// captured, because the lane was full or the log can't grow. After `limit` there is no default user, which a
  /// `weir.disassociated` tells, and without room for that no global fields either: no event may say that it is the
  /// former user's. After another error the default user is who it was. Takes a lock, from any thread; where captures
  /// may wait (``OverflowPolicy/block``), so may this.
  public func associate(
    _ id: String, traits: FieldObject = [:], sensitive: Set<String> = []
  ) throws(WeirError) {
    try changeUser(EventUser(id: id, traits: traits), sensitive)
  }

  /// From here on there is no default user. Captures an event `weir.disassociated`, with the field `user` if there was
  /// one. Order and errors as of ``associate(_:traits:sensitive:)``.
  public func disassociate() throws(WeirError) {
    try changeUser(nil, [])
  }

  private func changeUser(_ user: EventUser?, _ sensitive: Set<String>) throws(WeirError) {
    let result = context.withLock { context -> Result<Void, WeirError> in
      do throws(WeirError) {
        var next = context
        next.user = user
        next.sensitiveTraits = sensitive
        do throws(WeirError) {
          try put(next)
        } catch {
          if error.code == .limit { leaveNobody(&context) }
          throw error
        }
        do throws(WeirError) {
          try captureChange(of: user, from: context.user)
        } catch {
          // Bytes that were set before take no room: this can't fail for want of it.
          try? put(context)
          throw error
        }
        next.version += 1
        context = next
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw detached }
    try result.get()
  }

  /// There is no room to store who the user is. No event may say that it is the former one's, so from here on it is
  /// nobody's; and where there is no room to store that beside the global fields, these go, too.
  private func leaveNobody(_ context: inout ProcessContext) {
    guard let former = context.user else { return }
    context.version += 1
    context.user = nil
    context.sensitiveTraits = []
    do throws(WeirError) {
      try put(context)
    } catch {
      context.globals = GlobalFields()
      // Nothing takes no room.
      try? put(context)
    }
    try? captureChange(of: nil, from: former)
  }

  /// The child of a fork has neither log nor context.
  private var detached: WeirError {
    WeirError(
      .closed, "the log \(directory) belongs to the process that opened it; open a log of its own in its fork",
      path: directory)
  }

  /// Captures what readers go by. Under the lock, so that the last such event names the user that is.
  private func captureChange(of user: EventUser?, from former: EventUser?) throws(WeirError) {
    let receipt =
      if let user {
        capture(Association.associatedName, ["user": .string(user.id), "traits": .object(user.traits)], isValid: true)
      } else {
        capture(Association.disassociatedName, former.map { ["user": .string($0.id)] } ?? [:], isValid: true)
      }
    guard case .dropped(let reason) = receipt else { return }
    let what = "the change of the default user could not be captured (\(reason))"
    switch reason {
    case .closed, .detached:
      throw WeirError(.closed, "\(what): the log \(directory) is closed", path: directory)
    case .storage:
      let remedy = "the log can't grow; make room on the disk, or raise byteLimit"
      throw WeirError(.noSpace, "\(what): \(remedy)", path: directory)
    case .tooLarge:
      throw WeirError(.limit, "\(what): the traits are larger than maximumEventBytes", path: directory)
    default:
      throw WeirError(.timeout, "\(what): the lanes are full; try again", path: directory)
    }
  }

  @discardableResult
  func changeContext(
    ifStill version: UInt64? = nil, _ change: (inout ProcessContext) -> Void
  ) throws(WeirError) -> Bool {
    let result = context.withLock { context -> Result<Bool, WeirError> in
      guard version == nil || version == context.version else { return .success(false) }
      var next = context
      change(&next)
      next.version += 1
      do throws(WeirError) { try put(next) } catch { return .failure(error) }
      context = next
      return .success(true)
    }
    guard let result else { throw detached }
    return try result.get()
  }

  /// Stores a context, and has captures name it from here on.
  private func put(_ context: ProcessContext) throws(WeirError) {
    try handle.setContext(context.bytes())
    defaultUserKey.store(context.user.map { SamplingKey.of($0.id) } ?? 0, ordering: .relaxed)
  }
}

/// A change of the default user, as an event tells it.
public enum Association: Hashable, Sendable {
  /// The default user is this one from here on.
  case associated(EventUser)
  /// There is none from here on.
  case disassociated

  static let associatedName = EventType.reservedPrefix + "associated"
  static let disassociatedName = EventType.reservedPrefix + "disassociated"
}

extension StoredEvent {
  /// The change of the default user that this event tells; nil for any other event.
  public var association: Association? {
    switch name {
    case Association.associatedName:
      guard case .string(let id)? = fields["user"] else { return nil }
      guard case .object(let traits)? = fields["traits"] else { return .associated(EventUser(id: id)) }
      return .associated(EventUser(id: id, traits: traits))
    case Association.disassociatedName:
      return .disassociated
    default:
      return nil
    }
  }
}

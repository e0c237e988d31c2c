// Association: the tracker's default user and global fields, which apply where nothing else is bound.

import Synchronization

/// The default user and the global fields of a tracker.
struct ProcessContext {
  var globals = GlobalFields()
  var user: EventUser?
  /// The names of the user's sensitive traits.
  var sensitiveTraits: Set<String> = []
  /// The number of changes so far.
  var version: UInt64 = 0

  /// The encoded context; empty if there is none.
  fileprivate func bytes() throws(WeirError) -> [UInt8] {
    let object = ContextBytes.global(
      fields: globals.object, user: user, sensitive: globals.sensitive.union(sensitiveTraits))
    guard !object.isEmpty else { return [] }
    guard let bytes = object.taggedBytes(), bytes.count <= LogHandle.maximumContextBytes else {
      throw WeirError(
        .limit,
        "the global fields and the user take more than \(LogHandle.maximumContextBytes) bytes, or are nested more than "
          + "\(maximumDepth - 2) deep; leave out the large ones, or put them into events")
    }
    return bytes
  }
}

extension Tracker {
  /// The global fields of every event from now on. Change them with ``setGlobals(_:)`` and ``updateGlobals(_:)``.
  public var globals: GlobalFields { context.withLock { $0.globals } ?? GlobalFields() }

  /// Sets the global fields of every event from now on. They apply to every event that this thread captures after the
  /// call, and to events of other threads once those threads see the change.
  ///
  /// The log stores the global fields once, before the call returns, and each event refers to them by number. They
  /// survive whatever the events survive.
  ///
  /// Meant for values that change seldom: all global contexts of one opening may take 128 KiB, half of the room for
  /// definitions. The other half is for types. Setting the same fields again takes no room. For values that change with
  /// each request, use ``Bindings``.
  ///
  /// Throws `limit` (over 16 KiB, nested more than 14 deep, or no room for definitions) or `closed`. The global fields
  /// are unchanged then. Takes a lock. Any thread may call this.
  public func setGlobals(_ globals: GlobalFields) throws(WeirError) {
    try changeContext { $0.globals = globals }
  }

  /// Changes the global fields of every event from now on.
  ///
  /// ```swift
  /// try tracker.updateGlobals { $0.consent = "statistics" }
  /// ```
  ///
  /// `change` is called again if another thread changed the global fields in the meantime. Throws what
  /// ``setGlobals(_:)`` throws.
  public func updateGlobals(_ change: (inout GlobalFields) -> Void) throws(WeirError) {
    while true {
      guard let (before, version) = context.withLock({ ($0.globals, $0.version) }) else { throw detached }
      var globals = before
      // Called outside of the lock, so that `change` may use the tracker.
      change(&globals)
      let isChanged = try changeContext(ifStill: version) { $0.globals = globals }
      if isChanged { return }
    }
  }

  /// The default user: the user of events that are captured where no user is bound (``Bindings``).
  public var user: EventUser? { context.withLock { $0.user } ?? nil }

  /// Makes `id` the default user: the user of all events that are captured from now on where no user is bound. Meant
  /// for programs with one user at a time. Servers bind a user to each request instead: see ``Bindings``.
  ///
  /// Also captures an event `weir.associated` with the fields `user` and `traits`. Readers and providers get that event
  /// in order with the others: see ``StoredEvent/association``. All events that this thread captures after the call
  /// have the new user. Events that other threads capture during the call have the old or the new user. `sensitive`
  /// names the traits that must not leave the process unredacted.
  ///
  /// Throws `limit` and `closed` like ``setGlobals(_:)``, and `timeout` or `noSpace` if the event could not be
  /// captured, because the lane was full or the log can't grow. After `limit` there is no default user, so that no
  /// event names the former user, and a `weir.disassociated` event says so. If there is no room for that change either,
  /// the global fields are removed as well. After any other error the default user is unchanged.
  ///
  /// Takes a lock. Any thread may call this. Waits if captures may wait (``OverflowPolicy/block``).
  public func associate(
    _ id: String, traits: FieldObject = [:], sensitive: Set<String> = []
  ) throws(WeirError) {
    try changeUser(EventUser(id: id, traits: traits), sensitive)
  }

  /// Removes the default user from all events from now on. Captures an event `weir.disassociated`, with the field
  /// `user` if there was a default user. For order and errors see ``associate(_:traits:sensitive:)``.
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
          // Storing the same bytes again takes no room, so this can't fail for lack of room.
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

  /// Removes the default user, because there is no room to store the new user, and no event may name the former one. If
  /// there is no room for the global fields alone either, removes these too.
  private func leaveNobody(_ context: inout ProcessContext) {
    guard let former = context.user else { return }
    context.version += 1
    context.user = nil
    context.sensitiveTraits = []
    do throws(WeirError) {
      try put(context)
    } catch {
      context.globals = GlobalFields()
      // An empty context takes no room.
      try? put(context)
    }
    try? captureChange(of: nil, from: former)
  }

  /// The error of a forked child, which has neither log nor context.
  private var detached: WeirError {
    WeirError(
      .closed, "the log \(directory) belongs to the process that opened it; open another log in the forked process",
      path: directory)
  }

  /// Captures the event that tells readers of the change. Called with the lock held, so that the last such event names
  /// the current user.
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
      let remedy = "the log can't grow; free space on the disk, or raise byteLimit"
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

  /// Stores a context, which captures refer to from now on.
  private func put(_ context: ProcessContext) throws(WeirError) {
    try handle.setContext(context.bytes())
    defaultUserKey.store(context.user.map { SamplingKey.of($0.id) } ?? 0, ordering: .relaxed)
  }
}

/// A change of the default user, as told by an event.
public enum Association: Hashable, Sendable {
  /// This user is the default user from now on.
  case associated(EventUser)
  /// There is no default user from now on.
  case disassociated

  static let associatedName = EventType.reservedPrefix + "associated"
  static let disassociatedName = EventType.reservedPrefix + "disassociated"
}

extension StoredEvent {
  /// The change of the default user that this event tells of; `nil` for any other event.
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

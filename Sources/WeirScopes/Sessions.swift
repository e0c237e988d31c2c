// Sessions: begins and ends the sessions of a tracker's users, by their activity.

public import Weir

/// The sessions of a tracker's users. A session begins with a user's first activity, and ends after a pause, or when
/// the program says so.
///
/// ```swift
/// let sessions = try Sessions(tracker)
///
/// func handle(_ request: Request) async throws -> Response {
///   try await sessions.with(user: request.userID, fields: ["request": .string(request.id)]) {
///     tracker.track(Checkout.started(cart: request.cart))  // its context has session_id and session_number
///     return try await respond(to: request)
///   }
/// }
///
/// sessions.end(user: id)  // logged out
/// ```
///
/// **Events.** ``SessionEvent`` tells of the beginning and the end. Every event within
/// ``with(user:traits:fields:view:sensitive:_:)`` has the session's id and number among its bound fields: `session_id`,
/// `session_number`. The end has no other bindings, because another user's request may have noticed the end.
///
/// **Pause.** A session ends after ``Configuration/idleAfter`` without a call of `with` for its user. The end is
/// noticed at the next call for any user, at ``endIdle()``, or at the next opening of the log, and `session.ended` has
/// the duration up to the last activity. Nothing wakes for it.
///
/// **Crash.** Sessions are kept in `sessions/users` of the log's directory. A restart or a kill ends no session: if the
/// user is back within the pause, the session goes on, with its id and number. A kill just when a session begins or
/// ends may cost its `session.started` or `session.ended`. After a power cut, sessions may begin anew.
///
/// **Limits.** At most ``Configuration/limit`` users are known. Beyond that, users without an open session are
/// forgotten, those who were active longest ago first, and then sessions are ended early. The number of a forgotten
/// user starts at 1 again. The file has at most 512 MiB: if the users' ids are so long that a million users do not fit,
/// a warning says so, and the sessions do not survive a restart.
///
/// **Threads and cost.** Any thread or task may call any member. A call of `with` costs what `Bindings.with` costs and
/// about a microsecond more. An activity is written to the file, in some microseconds, at most sixteen times in
/// ``Configuration/idleAfter``. In a forked child, `with` only binds the user.
public final class Sessions: Sendable {
  /// The options of sessions.
  public struct Configuration: Sendable {
    /// The pause that ends a session. Default 30 minutes; above zero.
    public var idleAfter = Duration.seconds(1_800)

    /// The maximum number of known users. Default 100,000, at some 300 bytes each; 1 to 1,000,000.
    public var limit = 100_000

    /// Tests only: the maximum size of the file, in bytes. Enough for the most users with ids of 200 bytes.
    package var fileBytes = 512 << 20

    /// Tests only: the time.
    package var now: @Sendable () -> Timestamp = { Timestamp.now }

    /// The system calls for the file. Tests can make them fail.
    package var calls = SystemCalls()

    /// Creates options with the default values.
    public init() {}
  }

  private let tracker: Tracker
  private let keeper: SessionKeeper

  /// Reads the sessions of the log, and ends those whose pause has passed.
  ///
  /// Throws `invalid` if an option is out of range, or the tracker already has sessions; `closed` in a forked child;
  /// and the errors of the system if the directory can't be used.
  public init(_ tracker: Tracker, configuration: Configuration = Configuration()) throws(WeirError) {
    guard configuration.idleAfter > .zero, (1...1_000_000).contains(configuration.limit) else {
      throw WeirError(
        .invalid,
        "the sessions' idleAfter is \(configuration.idleAfter) and limit is \(configuration.limit); idleAfter must be "
          + "above 0, and limit 1 to 1,000,000")
    }
    self.tracker = tracker
    let (file, sessions) = try SessionFile.open(
      in: tracker.directory, byteLimit: configuration.fileBytes, calls: configuration.calls)
    keeper = SessionKeeper(SessionTable(file, sessions, configuration))
    switch tracker.companions.add(keeper) {
    case true?: break
    case false?:
      throw WeirError(
        .invalid, "the tracker of \(tracker.directory) already has sessions; use those", path: tracker.directory)
    case nil:
      throw WeirError(
        .closed, "a forked process can't use its parent's tracker; open another log in the forked process",
        path: tracker.directory)
    }
    endIdle()
  }

  deinit {
    keeper.logWillClose()
    tracker.companions.remove(keeper)
  }

  /// Binds a user and the user's session, and optionally fields and a view, to everything that is captured in `body`,
  /// as `Bindings.with(user:traits:fields:view:sensitive:_:)` does. Begins a session if the user has none.
  @discardableResult
  public func with<Result, Failure: Error>(
    user: String, traits: FieldObject = [:], fields: FieldObject = [:], view: String? = nil,
    sensitive: Set<String> = [], _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let fields = fields.joined(touch(user, traits, sensitive))
    return try Bindings.with(user: user, traits: traits, fields: fields, view: view, sensitive: sensitive, body)
  }

  /// Binds a user and the user's session to everything that is captured in asynchronous work, on the caller's actor.
  @discardableResult
  public func with<Result, Failure: Error>(
    user: String, traits: FieldObject = [:], fields: FieldObject = [:], view: String? = nil,
    sensitive: Set<String> = [], isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let fields = fields.joined(touch(user, traits, sensitive))
    return try await Bindings.with(
      user: user, traits: traits, fields: fields, view: view, sensitive: sensitive, isolation: isolation, body)
  }

  /// The open session of a user; `nil` if there is none.
  public func session(of user: String) -> Session? { keeper.change { $0.session(of: user) } ?? nil }

  /// Ends the session of a user, as at a logout. Does nothing if the user has no open session.
  public func end(user: String) { tell(keeper.change { $0.end(user) }) }

  /// Ends all sessions whose pause has passed. Called for the sessions that ended first by every call of `with`; a
  /// program with few requests may call this from a timer, to have `session.ended` in time.
  public func endIdle() { tell(keeper.change { $0.endIdle(most: .max) }) }

  /// Notes an activity, and returns the fields of the user's session.
  private func touch(_ user: String, _ traits: FieldObject, _ sensitive: Set<String>) -> FieldObject {
    guard let (session, isNew, ended) = keeper.change({ $0.touch(user) }) else { return [:] }
    tell(ended)
    if isNew {
      _ = Bindings.with(user: user, traits: traits, fields: session.fields, sensitive: sensitive) {
        tracker.track(SessionEvent.started(number: session.number))
      }
    }
    return session.fields
  }

  private func tell(_ ended: [(session: Session, reason: String)]?) {
    if let error = keeper.takeError() {
      tracker.warn("the sessions of \(tracker.directory) can't be kept: \(error.message)")
    }
    for (session, reason) in ended ?? [] {
      // The event belongs to the session's user, not to the request in which the end was noticed.
      rebind(nil) {
        _ = Bindings.with(user: session.user, fields: session.fields) {
          tracker.track(
            SessionEvent.ended(number: session.number, reason: reason, seconds: session.duration.inSeconds))
        }
      }
    }
  }
}

extension FieldObject {
  /// These fields, and those of `others` whose names are not among them.
  fileprivate func joined(_ others: FieldObject) -> FieldObject {
    var joined = self
    for field in others where self[field.name] == nil { joined[field.name] = field.value }
    return joined
  }
}

/// The sessions of a tracker, behind a lock.
final class SessionKeeper: LogCompanion {
  private let table: ProcessLock<SessionTable>

  init(_ table: SessionTable) {
    self.table = ProcessLock(table)
  }

  /// Returns the result of `body`; `nil` in a forked child.
  func change<Answer: Sendable>(_ body: (inout SessionTable) -> Answer) -> Answer? { table.withLock(body) }

  /// Returns the error of the file that was not told yet.
  func takeError() -> WeirError? {
    (table.withLock { table in
      defer { table.error = nil }
      return table.error
    }) ?? nil
  }

  /// Writes the latest activities: an orderly restart keeps them exactly.
  func logWillClose() { _ = table.withLock { $0.write(all: true) } }

  func logWillBeFreed() {}
}

/// The known users and their sessions.
struct SessionTable: Sendable {
  private struct Entry {
    var session: Session
    /// The last activity in the file.
    var written: Timestamp?
    var isQueued = false
  }

  private var entries: [String: Entry] = [:]
  /// The users with open sessions, each once, by an activity that may be older than their last.
  private var queue: [(user: String, active: Timestamp)] = []
  private var gone = 0
  private var unwritten: Set<String> = []
  /// The last records of forgotten users, to be written: their sessions have ended.
  private var forgotten: [Session] = []
  private var file: SessionFile
  private let idle: Int64
  private let limit: Int
  private let now: @Sendable () -> Timestamp
  private var random = SystemRandomNumberGenerator()
  /// The time before which a failed write is not tried again; `nil` after a success.
  private var retryAt: Timestamp?
  /// The first error of a series that was not told yet.
  var error: WeirError?

  init(_ file: SessionFile, _ sessions: [Session], _ configuration: Sessions.Configuration) {
    self.file = file
    error = file.error
    idle = Int64(clamping: configuration.idleAfter.wholeNanoseconds)
    limit = configuration.limit
    now = configuration.now
    // Of more users than may be known now, those whose sessions are open, and the latest.
    let known = sessions.sorted { ($0.isOpen ? 1 : 0, $0.lastActive) < ($1.isOpen ? 1 : 0, $1.lastActive) }
      .suffix(limit)
    for session in known.sorted(by: { $0.lastActive < $1.lastActive }) {
      entries[session.user] = Entry(session: session, written: session.lastActive, isQueued: session.isOpen)
      if session.isOpen { queue.append((session.user, session.lastActive)) }
    }
  }

  func session(of user: String) -> Session? {
    guard let session = entries[user]?.session, session.isOpen, !isOver(session, at: now()) else { return nil }
    return session
  }

  mutating func touch(_ user: String) -> (Session, isNew: Bool, ended: [(session: Session, reason: String)]) {
    let time = now()
    var ended = endIdle(most: 2, at: time)
    if var entry = entries[user], entry.session.isOpen, !isOver(entry.session, at: time) {
      entry.session.lastActive = max(entry.session.lastActive, time)
      entries[user] = entry
      // Sixteen times in a pause: a kill shortens a session by no more than a sixteenth of the pause.
      let sinceWritten = entry.written.map { time.nanosecondsSince($0) }
      if sinceWritten.map({ $0 >= idle / 16 }) ?? true { unwritten.insert(user) }
      write()
      return (entry.session, false, ended)
    }
    let former = entries[user]
    if let former, former.session.isOpen { ended += close(user, "idle") }
    let session = Session(
      id64: random.next(), number: (former?.session.number ?? 0) &+ 1, user: user, began: time)
    entries[user] = Entry(session: session, isQueued: true)
    if former?.isQueued != true { queue.append((user, time)) }
    unwritten.insert(user)
    ended += forgetOldest(but: user)
    write()
    return (session, true, ended)
  }

  mutating func end(_ user: String) -> [(session: Session, reason: String)] {
    defer { write() }
    return entries[user]?.session.isOpen == true ? close(user, "ended") : []
  }

  mutating func endIdle(most: Int) -> [(session: Session, reason: String)] {
    defer { write() }
    return endIdle(most: most, at: now())
  }

  private mutating func endIdle(most: Int, at time: Timestamp) -> [(session: Session, reason: String)] {
    var ended: [(session: Session, reason: String)] = []
    while gone < queue.count, ended.count < most {
      let (user, active) = queue[gone]
      guard time.nanosecondsSince(active) >= idle else { break }
      gone += 1
      guard let session = entries[user]?.session else { continue }
      entries[user]?.isQueued = false
      guard session.isOpen else { continue }
      if isOver(session, at: time) {
        ended += close(user, "idle")
      } else {
        entries[user]?.isQueued = true
        queue.append((user, session.lastActive))
      }
    }
    if gone > 64, gone * 2 > queue.count {
      queue.removeFirst(gone)
      gone = 0
    }
    return ended
  }

  private func isOver(_ session: Session, at time: Timestamp) -> Bool {
    time.nanosecondsSince(session.lastActive) >= idle
  }

  private mutating func close(_ user: String, _ reason: String) -> [(session: Session, reason: String)] {
    entries[user]?.session.isOpen = false
    unwritten.insert(user)
    return entries[user].map { [($0.session, reason)] } ?? []
  }

  /// Forgets a tenth of the users once there are too many, but not this one. Open sessions among them end.
  private mutating func forgetOldest(but newest: String) -> [(session: Session, reason: String)] {
    guard entries.count > limit else { return [] }
    let oldest = entries.values.map(\.session).filter { $0.user != newest }.sorted {
      ($0.isOpen ? 1 : 0, $0.lastActive) < ($1.isOpen ? 1 : 0, $1.lastActive)
    }.prefix(max(limit / 10, 1))
    for session in oldest {
      entries[session.user] = nil
      var closed = session
      closed.isOpen = false
      forgotten.append(closed)
    }
    unwritten.subtract(oldest.map(\.user))
    if forgotten.count > limit {
      // While the disk takes no records, the list must not grow. A file that is written anew has no forgotten users.
      forgotten = []
      file.outdate()
    }
    return oldest.filter(\.isOpen).map { ($0, "idle") }
  }

  // MARK: The file

  /// Writes what has changed. With `all`, also the activities since.
  mutating func write(all: Bool = false) {
    if all {
      for (user, entry) in entries where entry.written != entry.session.lastActive { unwritten.insert(user) }
    }
    guard !unwritten.isEmpty || !forgotten.isEmpty, all || retryAt.map({ now() >= $0 }) ?? true else { return }
    let changed = forgotten + unwritten.compactMap { entries[$0]?.session }
    do throws(WeirError) {
      if try !file.append(changed, of: entries.count) { try file.rewrite(entries.values.map(\.session)) }
      for session in changed { entries[session.user]?.written = session.lastActive }
      unwritten = []
      forgotten = []
      retryAt = nil
    } catch {
      if retryAt == nil { self.error = error }
      retryAt = Timestamp(nanosecondsSince1970: now().nanosecondsSince1970 + 1_000_000_000)
    }
  }
}

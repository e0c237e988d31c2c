// JoinPoint.Call: one call of an instrumented function, from its beginning to its end.

public import CFiring
public import Synchronization
import Weir

extension JoinPoint {
  /// One call of an instrumented function. For the macros, and for `withJoinPoint`, which write this into a body:
  ///
  /// ```swift
  /// func like(_ item: Item) -> Bool {
  ///   var weirCall = Self.weirJoinPoint_like_.call()
  ///   if weirCall.isObserved { weirCall.begin(self, (item: item, ()), in: ItemPage.self) }
  ///   defer { if weirCall.isObserved { weirCall.end(self) } }
  ///   return weirCall.returned(items.insert(item).inserted)
  /// }
  /// ```
  ///
  /// A value of the calling function alone, to be ended once if it is observed. What is attached while a call is in
  /// progress hears of the next one; what is detached meanwhile does not hear of this one's end.
  ///
  /// It has nothing that would have to be released, so that a call that nobody listens to keeps it in a register and
  /// does no more than to test it; all that takes part in firing is out of line.
  public struct Call {
    @usableFromInline typealias State = CallState<Owner, Parameters, Returned>

    /// Before ``begin(_:_:in:)`` the join point's table, after it the address of a ``CallState``; 0: nobody listens, or
    /// nobody waits for the end.
    @usableFromInline var bits: UInt

    /// The address of the join point's word.
    @usableFromInline let word: UnsafeRawPointer

    @inlinable
    @inline(__always)
    init(table: UInt, word: UnsafeRawPointer) {
      bits = table
      self.word = word
    }

    /// Before `begin`: hooks are attached. After it: somebody waits for the end of this very call.
    @inlinable
    public var isObserved: Bool {
      @inline(__always) get { bits != 0 }
    }

    // MARK: What the function says

    /// The function begins: `owner` is `self`, and `implementer` the type whose body this is. For what has no class:
    /// structures, enums, metatypes, free functions.
    @inlinable
    @inline(__always)
    public mutating func begin(_ owner: Owner, _ parameters: Parameters, in implementer: Any.Type) {
      bits = Self.fireBefore(word, owner, parameters, address(implementer))
    }

    /// The same of an asynchronous function.
    @inlinable
    @inline(__always)
    public mutating func beginAsync(_ owner: Owner, _ parameters: Parameters, in implementer: Any.Type) {
      bits = Self.fireBeforeAsync(word, owner, parameters, address(implementer))
    }

    /// The function goes on to return this. Answers it.
    @inlinable
    @inline(__always)
    public func returned<Value>(_ value: Value) -> Value {
      if isObserved { Self.keep(bits, value) }
      return value
    }

    /// For a function whose only expression never returns: there is nothing to keep.
    @inlinable
    @inline(__always)
    public func returned<Value>(_ value: Never) -> Value {}

    /// The function goes on to throw this.
    @inlinable
    @inline(__always)
    public func threw<Failure: Error>(_ error: Failure) {
      // Generic, so that a typed error is put into a box only here.
      if isObserved { Self.keep(bits, error: error) }
    }

    /// Stands at the beginning of a `do` that catches what the function throws: with it the compiler does not warn of a
    /// `catch` that is never reached. Never throws.
    @inlinable
    @inline(__always)
    public func mayThrow() throws {}

    /// The same for a function with a typed error.
    @inlinable
    @inline(__always)
    public func mayThrow<Failure: Error>(_ type: Failure.Type) throws(Failure) {}

    /// The function returns or throws now.
    @inlinable
    @inline(__always)
    public func end(_ owner: Owner) {
      Self.fireAfter(bits, owner)
    }
  }
}

extension JoinPoint.Call where Owner: AnyObject {
  /// ``begin(_:_:in:)`` of a class or an actor.
  @inlinable
  @inline(__always)
  public mutating func begin(_ owner: Owner, _ parameters: Parameters, in implementer: Any.Type) {
    bits = Self.fireBefore(word, owner, parameters, address(implementer))
  }

  /// ``beginAsync(_:_:in:)`` of a class or an actor.
  @inlinable
  @inline(__always)
  public mutating func beginAsync(_ owner: Owner, _ parameters: Parameters, in implementer: Any.Type) {
    bits = Self.fireBeforeAsync(word, owner, parameters, address(implementer))
  }

  /// ``end(_:)`` of a class or an actor.
  @inlinable
  @inline(__always)
  public func end(_ owner: Owner) {
    Self.fireAfter(bits, owner)
  }

  @inlinable
  @inline(never)
  static func fireBefore(
    _ word: UnsafeRawPointer, _ owner: Owner, _ parameters: Parameters, _ implementer: UnsafeRawPointer
  ) -> UInt {
    fire(word, owner, parameters, CallSite(implementer, of: owner), isAsync: false)
  }

  @inlinable
  @inline(never)
  static func fireBeforeAsync(
    _ word: UnsafeRawPointer, _ owner: Owner, _ parameters: Parameters, _ implementer: UnsafeRawPointer
  ) -> UInt {
    fire(word, owner, parameters, CallSite(implementer, of: owner), isAsync: true)
  }

  @inlinable
  @inline(never)
  static func fireAfter(_ bits: UInt, _ owner: Owner) {
    fire(bits, owner, CallSite(nil, of: owner))
  }
}

extension JoinPoint.Call {
  @inlinable
  @inline(never)
  static func fireBefore(
    _ word: UnsafeRawPointer, _ owner: Owner, _ parameters: Parameters, _ implementer: UnsafeRawPointer
  ) -> UInt {
    fire(word, owner, parameters, CallSite(implementer), isAsync: false)
  }

  @inlinable
  @inline(never)
  static func fireBeforeAsync(
    _ word: UnsafeRawPointer, _ owner: Owner, _ parameters: Parameters, _ implementer: UnsafeRawPointer
  ) -> UInt {
    fire(word, owner, parameters, CallSite(implementer), isAsync: true)
  }

  @inlinable
  @inline(never)
  static func fireAfter(_ bits: UInt, _ owner: Owner) {
    fire(bits, owner, CallSite(nil))
  }
}

// MARK: Firing

extension JoinPoint.Call {
  /// Tells those who listen that a call begins. Answers the address of a state that ``fire(_:_:_:)`` takes at its end,
  /// or 0 if there is nothing to be done then.
  @inlinable
  @inline(__always)
  static func fire(
    _ word: UnsafeRawPointer, _ owner: Owner, _ parameters: Parameters, _ site: CallSite, isAsync: Bool
  ) -> UInt {
    guard let firing = weir_firing_begin() else { return noteMissed() }
    defer { endFiring(firing) }
    guard let table = tableNow(word) else { return 0 }
    return table._withUnsafeGuaranteedRef { table in
      var entrance = Entrance.call
      // Nearly always nothing of the kind is in progress, and the class is that of the join point.
      if isAsync || site.implementer != address(Owner.self) || firing.pointee.override != nil {
        entrance = Self.entrance(word, owner, site, table, firing, isAsync: isAsync)
        if entrance == .throughSuper { return 0 }
      }
      var isAwaited = false
      var isTimed = false
      for index in 0..<table.count {
        let element = table.hooks[index]
        element.hook._withUnsafeGuaranteedRef { hook in
          guard hook.matches(owner, site) else { return }
          if hook.isAfter {
            isAwaited = true
            isTimed = isTimed || hook.isTimed
          } else {
            hook.run(in: firing) { element.advice._withUnsafeGuaranteedRef { $0.before(owner, parameters) } }
          }
        }
      }
      let override = entrance == .override ? noteOverride(word, owner, site, firing) : nil
      guard isAwaited || override != nil else { return 0 }
      guard let place = weir_call_take(MemoryLayout<State>.size, MemoryLayout<State>.alignment) else {
        endOverride(override)
        return noteMissed()
      }
      place.initializeMemory(
        as: State.self,
        to: State(
          word: word, override: override, newest: table.newest, start: isTimed ? weir_firing_clock() : 0,
          parameters: isAwaited ? parameters : nil, outcome: nil))
      return UInt(bitPattern: place)
    }
  }

  /// Tells those who wait for it that the call ends, and gives the state back.
  @inlinable
  @inline(__always)
  static func fire(_ bits: UInt, _ owner: Owner, _ site: CallSite) {
    guard let place = UnsafeMutableRawPointer(bitPattern: bits) else { return }
    let state = place.assumingMemoryBound(to: State.self).move()
    weir_call_give(place, MemoryLayout<State>.size)
    if state.override != nil { endOverride(state.override) }
    guard let parameters = state.parameters else { return }
    let nanoseconds = state.start == 0 ? 0 : weir_firing_clock() &- state.start
    guard let firing = weir_firing_begin() else {
      _ = noteMissed()
      return
    }
    defer { endFiring(firing) }
    guard let table = tableNow(state.word) else { return }
    var outcome = Hook.Outcome(state.outcome ?? outcomeOfNothing)
    table._withUnsafeGuaranteedRef { table in
      for index in 0..<table.count {
        let element = table.hooks[index]
        guard element.serial <= state.newest else { continue }
        element.hook._withUnsafeGuaranteedRef { hook in
          guard hook.isAfter, hook.matches(owner, site) else { return }
          outcome.nanoseconds = hook.isTimed ? nanoseconds : Hook.Outcome<Returned>.unmeasured
          hook.run(in: firing) { element.advice._withUnsafeGuaranteedRef { $0.after(owner, parameters, outcome) } }
        }
      }
    }
  }

  /// What a function that did not say what it returned has returned: nothing, if that is its result.
  @inlinable
  @inline(never)
  static var outcomeOfNothing: Result<Returned, any Error>? {
    (() as? Returned).map { .success($0) }
  }

  @inlinable
  @inline(never)
  static func keep<Value>(_ bits: UInt, _ value: Value) {
    guard let state = UnsafeMutablePointer<State>(bitPattern: bits) else { return }
    if Value.self == Returned.self {
      state.pointee.keep(.success(unsafeBitCast(value, to: Returned.self)))
    } else if let value = value as? Returned {
      // An override may return a subtype, and a generic result is kept as Any.
      state.pointee.keep(.success(value))
    }
  }

  @inlinable
  @inline(never)
  static func keep(_ bits: UInt, error: any Error) {
    UnsafeMutablePointer<State>(bitPattern: bits)?.pointee.keep(.failure(error))
  }

  /// The table in force; of use until the firing ends.
  @inlinable
  @inline(__always)
  static func tableNow(_ word: UnsafeRawPointer) -> Unmanaged<HookTable<Owner, Parameters, Returned>>? {
    // In one order with all else where there is no membarrier (F1); it costs no more than acquiring.
    let table = word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.load(ordering: .sequentiallyConsistent)
    return UnsafeRawPointer(bitPattern: table).map { Unmanaged.fromOpaque($0) }
  }

  /// How a call came about: by itself, as that of an override, or through `super`, when it is the override's call that
  /// is told.
  ///
  /// Of synchronous functions the thread knows which overrides are in progress. Asynchronous ones change threads, so
  /// there an implementation counts as called through `super` if the object's class has an instrumented override of it.
  @inlinable
  @inline(never)
  static func entrance(
    _ word: UnsafeRawPointer, _ owner: Owner, _ site: CallSite, _ table: HookTable<Owner, Parameters, Returned>,
    _ firing: UnsafeMutablePointer<weir_firing>, isAsync: Bool
  ) -> Entrance {
    guard let implementer = site.implementer else { return .call }
    // Of a class method the owner is the class, and the implementer one of its instances' types.
    let isOverride =
      implementer != address(Owner.self)
      && address(type(of: unsafeBitCast(implementer, to: Any.Type.self))) != address(Owner.self)
    // Asynchronous ones are never noted on a thread.
    let own: Entrance = isOverride && !isAsync ? .override : .call
    guard let concrete = site.classOf(owner), concrete != implementer else {
      // No class below has an override.
      if isAsync && isOverride { table.overrides.note(implementer) }
      return own
    }
    if isAsync {
      if isOverride { table.overrides.note(implementer) }
      return table.overrides.hides(implementer, from: concrete) ? .throughSuper : own
    }
    let instance = site.instance ?? concrete
    return weir_override_encloses(firing, word, instance, implementer) != 0 ? .throughSuper : own
  }

  /// Notes that an override is in progress on this thread, in memory that ``endOverride(_:)`` gives back. Nil, and
  /// counted, if there is none.
  @inlinable
  @inline(never)
  static func noteOverride(
    _ word: UnsafeRawPointer, _ owner: Owner, _ site: CallSite, _ firing: UnsafeMutablePointer<weir_firing>
  ) -> UnsafeMutablePointer<weir_override>? {
    let layout = MemoryLayout<weir_override>.self
    guard let memory = weir_call_take(layout.size, layout.alignment) else {
      _ = noteMissed()
      return nil
    }
    let instance = site.instance ?? metatype(owner)
    let call = memory.initializeMemory(
      as: weir_override.self,
      to: weir_override(join_point: word, instance: instance, implementer: site.implementer, outer: nil))
    weir_override_begin(firing, call)
    return call
  }

  @inlinable
  @inline(never)
  static func endOverride(_ call: UnsafeMutablePointer<weir_override>?) {
    guard let call else { return }
    weir_override_end(call)
    weir_call_give(call, MemoryLayout<weir_override>.size)
  }

  @inlinable
  @inline(__always)
  static func endFiring(_ firing: UnsafeMutablePointer<weir_firing>) {
    if weir_firing_end(firing) != 0 { HookRegistry.releaseDetached() }
  }

  @usableFromInline
  @inline(never)
  static func noteMissed() -> UInt {
    HookRegistry.noteMissed()
    return 0
  }
}

/// How a call came about.
@usableFromInline
enum Entrance {
  case call, override, throughSuper
}

/// What is kept of a call until its end, in memory that threads have at hand.
@usableFromInline
struct CallState<Owner, Parameters, Returned> {
  @usableFromInline let word: UnsafeRawPointer
  /// This thread has noted that an override is in progress.
  @usableFromInline let override: UnsafeMutablePointer<weir_override>?
  /// The newest hook when the call began: later ones do not hear of its end.
  @usableFromInline let newest: UInt64
  /// When the call began, by CLOCK_MONOTONIC in nanoseconds; 0 if nobody asked.
  @usableFromInline let start: UInt64
  /// Nil if nobody waits for the end.
  @usableFromInline let parameters: Parameters?
  @usableFromInline var outcome: Result<Returned, any Error>?

  /// Keeps the outcome, which is the first and only one: what is there is nil, and need not be released. To read it
  /// would be to wait until what the beginning of the call has written is in the cache: 4 ns.
  @inlinable
  @inline(__always)
  mutating func keep(_ outcome: Result<Returned, any Error>) {
    withUnsafeMutablePointer(to: &self.outcome) { $0.initialize(to: outcome) }
  }

  @inlinable
  @inline(__always)
  init(
    word: UnsafeRawPointer, override: UnsafeMutablePointer<weir_override>?, newest: UInt64, start: UInt64,
    parameters: Parameters?,
    outcome: Result<Returned, any Error>?
  ) {
    self.word = word
    self.override = override
    self.newest = newest
    self.start = start
    self.parameters = parameters
    self.outcome = outcome
  }
}

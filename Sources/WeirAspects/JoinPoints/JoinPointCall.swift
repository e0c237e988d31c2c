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
  /// A `Call` belongs to the calling function. An observed call must be ended exactly once. A hook that is attached
  /// while a call is in progress first hears the next call. A hook that is detached during a call does not hear the end
  /// of that call.
  ///
  /// A `Call` holds nothing that must be released. An unobserved call therefore stays in a register and is only tested.
  /// All code that fires hooks is out of line.
  public struct Call {
    @usableFromInline typealias State = CallState<Owner, Parameters, Returned>

    /// Before ``begin(_:_:in:)``: the address of the join point's table, 0 if no hook is attached. After
    /// ``begin(_:_:in:)``: the address of a ``CallState``, 0 if no hook waits for the end of the call.
    @usableFromInline var bits: UInt

    /// The address of the join point's word.
    @usableFromInline let word: UnsafeRawPointer

    @inlinable
    @inline(__always)
    init(table: UInt, word: UnsafeRawPointer) {
      bits = table
      self.word = word
    }

    /// Before `begin`: whether hooks are attached. After `begin`: whether a hook waits for the end of this call.
    @inlinable
    public var isObserved: Bool {
      @inline(__always) get { bits != 0 }
    }

    // MARK: Called by the function

    /// The function begins. `owner` is `self`; `implementer` is the type that contains the running body. This overload
    /// is for structures, enums, metatypes and free functions.
    @inlinable
    @inline(__always)
    public mutating func begin(_ owner: Owner, _ parameters: Parameters, in implementer: Any.Type) {
      bits = Self.fireBefore(word, owner, parameters, address(implementer))
    }

    /// An asynchronous function begins. Otherwise like the overload before.
    @inlinable
    @inline(__always)
    public mutating func beginAsync(_ owner: Owner, _ parameters: Parameters, in implementer: Any.Type) {
      bits = Self.fireBeforeAsync(word, owner, parameters, address(implementer))
    }

    /// Returns a parameter as the type that the join point has for it. An override does not see that type.
    @inlinable
    @inline(__always)
    public func passed<Value>(_ value: Value) -> Value { value }

    /// The same where that type is `Any`, as in an override of a generic class's method.
    @inlinable
    @inline(__always)
    public func passed<Value>(_ value: Value) -> Any { value }

    /// The function is about to return `value`. Returns `value`.
    @inlinable
    @inline(__always)
    public func returned<Value>(_ value: Value) -> Value {
      if isObserved { Self.keep(bits, value) }
      return value
    }

    /// For a function whose only expression never returns. There is no value to keep.
    @inlinable
    @inline(__always)
    public func returned<Value>(_ value: Never) -> Value {}

    /// The getter of a property is about to return `value`. Returns `value`. The macro does not see the type of the
    /// property, which is `Returned`: so the compiler knows the types of closures, tuples and literals.
    @inlinable
    @inline(__always)
    public func returned(as value: Returned) -> Returned { returned(value) }

    /// The same for a property whose type the descriptor has as `Any`.
    @inlinable
    @inline(__always)
    @_disfavoredOverload
    public func returned<Value>(as value: Value) -> Value { returned(value) }

    /// The function is about to throw `error`.
    @inlinable
    @inline(__always)
    public func threw<Failure: Error>(_ error: Failure) {
      // Generic, so that a typed error is boxed only here.
      if isObserved { Self.keep(bits, error: error) }
    }

    /// Never throws. The macros put this call at the beginning of a `do` that catches what the function throws, so that
    /// the compiler does not warn of an unreachable `catch`.
    @inlinable
    @inline(__always)
    public func mayThrow() throws {}

    /// Never throws. Like ``mayThrow()``, for a function with a typed error.
    @inlinable
    @inline(__always)
    public func mayThrow<Failure: Error>(_ type: Failure.Type) throws(Failure) {}

    /// The function now returns or throws.
    @inlinable
    @inline(__always)
    public func end(_ owner: Owner) {
      Self.fireAfter(bits, owner)
    }
  }
}

extension JoinPoint.Call where Owner: AnyObject {
  /// ``begin(_:_:in:)`` for a class or an actor.
  @inlinable
  @inline(__always)
  public mutating func begin(_ owner: Owner, _ parameters: Parameters, in implementer: Any.Type) {
    bits = Self.fireBefore(word, owner, parameters, address(implementer))
  }

  /// ``beginAsync(_:_:in:)`` for a class or an actor.
  @inlinable
  @inline(__always)
  public mutating func beginAsync(_ owner: Owner, _ parameters: Parameters, in implementer: Any.Type) {
    bits = Self.fireBeforeAsync(word, owner, parameters, address(implementer))
  }

  /// ``end(_:)`` for a class or an actor.
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
  /// Fires the hooks that run before the call. Returns the address of the state that ``fire(_:_:_:)`` takes at the end
  /// of the call, or 0 if there is nothing to do at the end.
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
      // Nearly always no override is in progress, and the implementer is the join point's class.
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

  /// Fires the hooks that run after the call, and frees the state.
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

  /// The outcome of a function that reported no result: `()`, if `Returned` is `Void`.
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
    } else if Returned.self == Any.self {
      // A generic result. A cast to Any would take the value out of an optional, and would fail for nil.
      state.pointee.keep(.success(unsafeBitCast(value as Any, to: Returned.self)))
    } else if let value = value as? Returned {
      // An override may return a subtype.
      state.pointee.keep(.success(value))
    }
  }

  @inlinable
  @inline(never)
  static func keep(_ bits: UInt, error: any Error) {
    UnsafeMutablePointer<State>(bitPattern: bits)?.pointee.keep(.failure(error))
  }

  /// The current table, valid until the firing ends.
  @inlinable
  @inline(__always)
  static func tableNow(_ word: UnsafeRawPointer) -> Unmanaged<HookTable<Owner, Parameters, Returned>>? {
    // Sequentially consistent for systems without membarrier (F1). Costs no more than an acquiring load.
    let table = word.assumingMemoryBound(to: Atomic<UInt>.self).pointee.load(ordering: .sequentiallyConsistent)
    return UnsafeRawPointer(bitPattern: table).map { Unmanaged.fromOpaque($0) }
  }

  /// How the implementation was called: directly, as an override, or through `super`. For a call through `super` no
  /// hooks fire, because the override's call fires the hooks.
  ///
  /// For synchronous functions, the thread knows which overrides are in progress. Asynchronous functions change
  /// threads, so an asynchronous implementation counts as called through `super` if the object's class has an
  /// instrumented override of the implementation.
  @inlinable
  @inline(never)
  static func entrance(
    _ word: UnsafeRawPointer, _ owner: Owner, _ site: CallSite, _ table: HookTable<Owner, Parameters, Returned>,
    _ firing: UnsafeMutablePointer<weir_firing>, isAsync: Bool
  ) -> Entrance {
    guard let implementer = site.implementer else { return .call }
    // In a class method, the owner is the class, and the implementer is the type of the class's instances.
    let isOverride =
      implementer != address(Owner.self)
      && address(type(of: unsafeBitCast(implementer, to: Any.Type.self))) != address(Owner.self)
    // Asynchronous overrides are never noted on a thread.
    let own: Entrance = isOverride && !isAsync ? .override : .call
    guard let concrete = site.classOf(owner), concrete != implementer else {
      // No subclass has an override.
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

  /// Notes that an override is in progress on this thread, in memory that ``endOverride(_:)`` frees. Returns `nil`, and
  /// counts a missed call, if there is no memory.
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

/// How an implementation was called.
@usableFromInline
enum Entrance {
  case call, override, throughSuper
}

/// The state of a call until its end, in memory that each thread keeps ready.
@usableFromInline
struct CallState<Owner, Parameters, Returned> {
  @usableFromInline let word: UnsafeRawPointer
  /// The thread's note that an override is in progress; `nil` if there is none.
  @usableFromInline let override: UnsafeMutablePointer<weir_override>?
  /// The serial number of the newest hook when the call began. Newer hooks don't hear the end of the call.
  @usableFromInline let newest: UInt64
  /// When the call began, by CLOCK_MONOTONIC in nanoseconds; 0 if no hook is timed.
  @usableFromInline let start: UInt64
  /// `nil` if no hook waits for the end.
  @usableFromInline let parameters: Parameters?
  @usableFromInline var outcome: Result<Returned, any Error>?

  /// Keeps the outcome. A call has one outcome, so the previous value is `nil`, or that of an initialiser that has not
  /// failed yet, which is nil too; neither needs a release. Reading the previous value would wait for the store at the
  /// beginning of the call: 4 ns.
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

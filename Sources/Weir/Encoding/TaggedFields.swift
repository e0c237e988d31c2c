// TaggedFields: captures of higher modules whose fields were encoded before, with their names and kinds.

public import CCapture

extension EventEncoder {
  /// The bytes that are left for fields. If a scope is bound here, and fields of `count` bytes may leave too little for
  /// the scope, without the scope's bytes.
  @inlinable
  @inline(__always)
  package func room(for count: Int) -> Int {
    guard let end = record.end, let cursor = record.cursor else { return 0 }
    let room = end - cursor
    return room - count < Self.scopeLimit && weir_scopes_bound() != 0 ? room - Self.scopeBytes(tracker) : room
  }

  /// More bytes than a bound scope has.
  @usableFromInline static var scopeLimit: Int { 8192 }

  /// The size of the scope that is bound here; 0 without one.
  @usableFromInline
  @inline(never)
  static func scopeBytes(_ tracker: Unmanaged<Tracker>) -> Int {
    tracker._withUnsafeGuaranteedRef { $0.scopeHere() }?.load(as: ScopeHeader.self).count ?? 0
  }

  /// Puts all fields of an event whose type is declared with `EventType(tagged:)`: their number in 32 bits, then each
  /// name and its value with the value's kind, as ``putTaggedMembers(_:depth:)`` puts them. `nil` makes the event too
  /// large.
  @inlinable
  @inline(__always)
  package mutating func put(taggedFields bytes: UnsafeRawBufferPointer?) {
    begin(0)
    record.signature = WEIR_TAGGED_SIGNATURE
    weir_put_raw(&record, bytes?.baseAddress, bytes.map { UInt64($0.count) } ?? .max)
  }

  /// Ends the capture without an event, and without counting a refusal: the caller captures another event instead. The
  /// receipt says `tooLarge`.
  package mutating func cancel() {
    guard index == Self.unset else { return spoil() }
    weir_cancel(&record)
    record = weir_record()
    outcome = UInt32(WEIR_DROP_TOO_LARGE)
    index = Self.ended
  }

  /// Makes the event one of the type whose number ``Tracker/number(ofTagged:for:key:limit:)`` returned. `name` is the
  /// type's name.
  package mutating func end<E: Event>(as number: UInt32, of type: E.Type, name: String) {
    guard index == 0 else { return }
    if let sampler = tracker._withUnsafeGuaranteedRef({ $0.sampler }) {
      let userKey = tracker._withUnsafeGuaranteedRef { $0.userKey($0.scopeHere()) }
      if !sampler.keeps(record, userKey: userKey, number: number, of: ObjectIdentifier(type), name: { name }) {
        outcome = UInt32(weir_refuse(&record, Int32(WEIR_DROP_SAMPLED)))
        index = Self.ended
        return
      }
    }
    outcome = number
    index = Self.named
  }

  /// Calls `body`, which is not inlined, with a copy of the encoder, and takes over what it did. A function that got the
  /// address of the encoder itself would keep the record in memory: see ``record``.
  @inlinable
  @inline(__always)
  package mutating func outOfLine(_ body: (inout EventEncoder) -> Void) {
    var copy = EventEncoder(record, index, outcome, tracker)
    body(&copy)
    record = copy.record
    index = copy.index
    outcome = copy.outcome
  }

  @inlinable
  @inline(__always)
  init(_ record: weir_record, _ index: UInt32, _ outcome: UInt32, _ tracker: Unmanaged<Tracker>) {
    self.record = record
    self.index = index
    self.outcome = outcome
    self.tracker = tracker
  }
}

extension Tracker {
  /// The number of a type of tagged events, which is found by `type` and `key`, and defined at the first call. `nil` if
  /// the type can't be defined, or if the log has `limit` types already. The first call takes a lock, so no capture may
  /// be in progress on this thread.
  package func number<E: Event>(
    ofTagged declaration: @autoclosure () -> EventType, for type: E.Type, key: String, limit: Int
  ) -> UInt32? {
    var key = key
    let found = key.withUTF8 { handle.findType(owner: Self.owner(type), key: UnsafeRawBufferPointer($0)) }
    if found != 0 { return found }
    guard handle.counters().types < limit else { return nil }
    return define(type, declaration(), key: key)
  }
}

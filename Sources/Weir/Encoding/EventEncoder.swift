// EventEncoder: writes an event's fields directly into the calling thread's lane.

public import CCapture

/// Writes the fields of one event, in place, into the calling thread's lane.
///
/// ``Tracker/track(_:)`` creates an encoder and passes it to ``Event/encode(into:)``. An encoder can't be kept or
/// copied.
///
/// **Crash.** Nothing becomes visible before the whole event is committed. A process killed in between leaves no trace
/// of the event.
///
/// **Cost.** Putting a number costs a store and a step of the checksum. Putting a string costs its copying.
///
/// **Errors.** The event is refused as ``DropReason/invalid`` if the encoder is used against the declaration:
/// ``begin(_:)`` is not called, is called twice, or gets an index out of range, or the fields have other kinds than
/// declared. The event is refused as ``DropReason/tooLarge`` if it grows beyond the maximum size.
public struct EventEncoder: ~Copyable {
  /// The record being written. Code that is inlined into a capture never passes the address of the record or of the
  /// encoder to a function that is not inlined. Passing the address would keep the record in memory instead of in
  /// registers, and a capture would take a quarter longer. Such functions take the record by value and return it
  /// changed.
  @usableFromInline var record: weir_record

  /// The index given to `begin`, or one of the states below.
  @usableFromInline var index: UInt32

  /// The type's number in state `named`; the drop reason in state `ended`.
  @usableFromInline var outcome: UInt32

  /// The tracker. It outlives the capture, and is not retained, because retaining is an atomic operation.
  @usableFromInline let tracker: Unmanaged<Tracker>

  /// More events than any type declares, so that indices differ from the states.
  @usableFromInline static var indexLimit: Int { 1 << 16 }
  /// State: `begin` has not been called.
  @usableFromInline static var unset: UInt32 { .max }
  /// State: the encoder was used against the declaration, and the event will be refused.
  @usableFromInline static var misused: UInt32 { .max - 1 }
  /// State: the event named its own type.
  @usableFromInline static var named: UInt32 { .max - 2 }
  /// State: the capture has ended. The event was refused and counted.
  @usableFromInline static var ended: UInt32 { .max - 3 }

  @inlinable
  @inline(__always)
  init(_ tracker: Tracker) {
    record = weir_record()
    index = Self.unset
    outcome = 0
    self.tracker = .passUnretained(tracker)
  }

  /// Begins the event declared at `index` in ``Event/eventTypes``. Must be called once, before the fields are put.
  @inlinable
  @inline(__always)
  public mutating func begin(_ index: Int) {
    if self.index == Self.unset, 0..<Self.indexLimit ~= index {
      self.index = UInt32(truncatingIfNeeded: index)
    } else {
      spoil()
    }
  }

  /// Puts the next field.
  @inlinable
  @inline(__always)
  public mutating func put<Value: EventValue>(_ value: Value) {
    value.encode(into: &self)
  }

  /// Begins a nested object. ``EventValue/encode(into:)`` must call this before putting the fields if the type's kind
  /// is ``FieldKind/object(_:)``.
  @inlinable
  @inline(__always)
  public mutating func beginObject() {
    sign(.object)
  }

  /// Adds `kind` to the signature, for the value that follows.
  @inlinable
  @inline(__always)
  mutating func sign(_ kind: Kind) {
    weir_sign(&record, UInt64(kind.rawValue))
  }

  /// Adds the kind of an absent value, and the kinds within it, to the signature. A value that is put adds them itself.
  @inlinable
  @inline(__always)
  mutating func sign(absent kind: FieldKind) {
    record.signature = kind.signature(after: record.signature)
  }

  /// Marks the event for refusal. An event that has ended stays ended, because it has no record.
  @inlinable
  @inline(__always)
  mutating func spoil() {
    if index != Self.ended { index = Self.misused }
  }
}

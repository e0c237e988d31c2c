// EventEncoder: writes one event's fields straight into the calling thread's lane.

public import CCapture

/// Writes the fields of one event, in place, into the calling thread's lane.
///
/// Made by ``Tracker/track(_:)`` and given to ``Event/encode(into:)``; it can't be kept or copied. Nothing that is put
/// exists before the whole event is committed: a process killed in the midst of it leaves no trace of the event.
/// Putting a number costs a store and a step of the checksum, a string its copying.
///
/// An encoder that is used against its declaration refuses the whole event as ``DropReason/invalid``: without
/// ``begin(_:)``, with two of them, with an index that is out of range, or with fields of other kinds than declared. An
/// event that grows past the largest size is refused as ``DropReason/tooLarge``.
public struct EventEncoder: ~Copyable {
  /// The record being written. What compiles into a capture never passes its address, or the encoder's, to a function
  /// that stays a call: that alone would keep the record in memory instead of in registers, and a capture took
  /// a quarter longer. Such functions take it by value and answer it changed.
  @usableFromInline var record: weir_record

  /// The index given to `begin`, or one of the states below.
  @usableFromInline var index: UInt32

  /// In state `named`, the type's number; in state `ended`, the reason.
  @usableFromInline var outcome: UInt32

  /// The tracker, which outlives the capture; not retained, for that would be an atomic operation.
  @usableFromInline let tracker: Unmanaged<Tracker>

  /// No type declares so many events; keeps indices apart from the states.
  @usableFromInline static var indexLimit: Int { 1 << 16 }
  /// `begin` has not been called.
  @usableFromInline static var unset: UInt32 { .max }
  /// Used against its declaration: to be refused.
  @usableFromInline static var misused: UInt32 { .max - 1 }
  /// The event named its own type.
  @usableFromInline static var named: UInt32 { .max - 2 }
  /// The capture is over: it was refused, and counted.
  @usableFromInline static var ended: UInt32 { .max - 3 }

  @inlinable
  @inline(__always)
  init(_ tracker: Tracker) {
    record = weir_record()
    index = Self.unset
    outcome = 0
    self.tracker = .passUnretained(tracker)
  }

  /// Begins the event that is declared at `index` in ``Event/eventTypes``. To be called once, before the fields are
  /// put.
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

  /// Begins a nested object. To be called by ``EventValue/encode(into:)`` of a type whose kind is
  /// ``FieldKind/object(_:)``, before it puts the fields.
  @inlinable
  @inline(__always)
  public mutating func beginObject() {
    sign(.object)
  }

  /// Notes that a value of `kind` follows.
  @inlinable
  @inline(__always)
  mutating func sign(_ kind: Kind) {
    weir_sign(&record, UInt64(kind.rawValue))
  }

  /// Notes the kind of a value that is not there, and those inside it: a value that is put does it on its way.
  @inlinable
  @inline(__always)
  mutating func sign(absent kind: FieldKind) {
    record.signature = kind.signature(after: record.signature)
  }

  /// Makes the event one to be refused. One that is over stays so: it has no record any more.
  @inlinable
  @inline(__always)
  mutating func spoil() {
    if index != Self.ended { index = Self.misused }
  }
}

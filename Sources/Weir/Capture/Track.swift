// track: the calls that capture events. What is marked inlinable compiles into the caller, down to the checksum.

public import CCapture

extension Tracker {
  /// Captures an event.
  ///
  /// Does not throw. With a hand-written ``Event/encode(into:)`` it does not wait, lock, allocate or call the system
  /// either: the fields are written in place into the calling thread's lane, in mapped memory, and published with one
  /// store, in some tens of nanoseconds. Events that are encoded by `Codable` take some 200 nanoseconds. The first
  /// event of a type defines it, and the first event of a thread takes a lane: these two are slower.
  ///
  /// With ``OverflowPolicy/block`` it may wait while the lane is full, with ``OverflowPolicy/dropOldest`` for a
  /// millisecond at most.
  ///
  /// When this answers ``Receipt/accepted(_:)`` the event survives the death of the process, at any instruction. Events
  /// of one thread keep their order in the log as long as the thread has a lane of its own. Offsets of events of
  /// different threads, or of threads that share the spare lanes, say nothing about order: go by ``StoredEvent/time``.
  /// May be called from any thread, also while another capture of the thread is in progress (from
  /// ``Event/encode(into:)``).
  @inlinable
  @inline(__always)
  @discardableResult
  public func track<E: Event>(_ event: E) -> Receipt {
    // The log must outlive the capture, though `self` is not used any more once its address is known.
    withExtendedLifetime(self) {
      guard let types = weir_find_owner(log, Self.owner(E.self)) ?? types(definedFor: E.self) else {
        return refuseUndefined()
      }
      return capture(event, types)
    }
  }

  /// Captures events, in order. Costs for each as much as ``track(_:)``; answers how many were accepted, and how many
  /// were dropped for which reason.
  @inlinable
  @discardableResult
  public func track<E: Event>(contentsOf events: some Sequence<E>) -> BulkReceipt {
    var receipt = BulkReceipt()
    for event in events { receipt.add(track(event)) }
    return receipt
  }

  /// Captures an event that has no Swift type: its name and its fields, each with a name and a kind of its own.
  ///
  /// ```swift
  /// tracker.track("page.viewed", fields: ["path": "/index.html", "status": 200])
  /// ```
  ///
  /// Costs a few tens of nanoseconds more than an event with a type, and the names' bytes in the log. Dropped as
  /// ``DropReason/invalid`` if the name is empty, longer than 1,024 bytes or begins with `weir.`, or if values are
  /// nested deeper than 16.
  @discardableResult
  public func track(_ name: String, fields: FieldObject = [:]) -> Receipt {
    withExtendedLifetime(self) {
      var encoder = EventEncoder(self)
      let drop = weir_begin(log, &encoder.record)
      guard drop == WEIR_ACCEPTED else { return .refused(drop) }
      encoder.begin(0)
      encoder.putText(name)
      encoder.putTaggedMembers(fields, depth: 0)
      let isNameValid = 1...EventType.maximumNameBytes ~= name.utf8.count
      guard isNameValid, !name.hasPrefix(EventType.reservedPrefix), encoder.index == 0 else {
        return .refused(LogHandle.refuseInvalid(&encoder.record))
      }
      return Self.commit(&encoder.record, LogHandle.dynamicType)
    }
  }

  // MARK: The steps of a capture

  /// The number that stands for a type in the core: the address of its metadata, which is the type's alone.
  @inlinable
  @inline(__always)
  static func owner<E: Event>(_ type: E.Type) -> UInt64 {
    UInt64(UInt(bitPattern: ObjectIdentifier(type)))
  }

  /// Captures an event of a type that is defined.
  @inlinable
  @inline(__always)
  func capture<E: Event>(_ event: E, _ types: UnsafePointer<weir_type_slot>) -> Receipt {
    var encoder = EventEncoder(self)
    let drop = weir_begin(log, &encoder.record)
    guard drop == WEIR_ACCEPTED else { return .refused(drop) }
    event.encode(into: &encoder)
    let index = encoder.index
    guard index < types.pointee.count, encoder.record.signature == types.pointee.signatures[Int(index)] else {
      return finish(encoder.record, index, encoder.outcome, E.self)
    }
    return Self.commit(&encoder.record, types.pointee.first &+ index)
  }

  /// Publishes an event.
  @inlinable
  @inline(__always)
  static func commit(_ record: inout weir_record, _ type: UInt32) -> Receipt {
    var id = weir_id()
    let drop = weir_commit(&record, type, &id)
    guard drop == WEIR_ACCEPTED else { return .refused(drop) }
    return .accepted(EventID(opening: id.opening, sequence: id.sequence))
  }

  /// Ends a capture whose event did not come out as its declaration has it: it named its own type, or was refused
  /// already, or is to be refused.
  @usableFromInline
  func finish<E: Event>(_ record: weir_record, _ index: UInt32, _ outcome: UInt32, _ type: E.Type) -> Receipt {
    var record = record
    switch index {
    case EventEncoder.named:
      return Self.commit(&record, outcome)
    case EventEncoder.ended:
      return .refused(Int32(truncatingIfNeeded: outcome))
    case EventEncoder.unset:
      note(type, "encode(into:) did not call begin; call it with an index into eventTypes before the fields are put")
    case EventEncoder.misused:
      note(type, "encode(into:) called begin twice or out of range, or put a value that its kind does not allow")
    default:
      let names = type.eventTypes.map(\.name)
      if index < names.count {
        note(type, "encode(into:) put other kinds of fields than eventTypes declares for \(names[Int(index)])")
      } else {
        note(type, "encode(into:) called begin(\(index)), but eventTypes declares \(names.count) events")
      }
    }
    return .refused(LogHandle.refuseInvalid(&record))
  }

  /// Defines a type's events, which is done at its first event. Nil if they can't be defined; the reason is noted.
  ///
  /// Takes the type and not the event, which would have to be in memory for it, with its strings retained.
  @usableFromInline
  @inline(never)
  func types<E: Event>(definedFor type: E.Type) -> UnsafePointer<weir_type_slot>? {
    define(type) ? weir_find_owner(log, Self.owner(type)) : nil
  }

  /// Refuses, and counts, an event of a type that can't be defined.
  @usableFromInline
  @inline(never)
  func refuseUndefined() -> Receipt {
    var record = weir_record()
    let drop = weir_begin(log, &record)
    guard drop == WEIR_ACCEPTED else { return .refused(drop) }
    return .refused(LogHandle.refuseInvalid(&record))
  }
}

// track: the calls that capture events. Inlinable code compiles into the caller, down to the checksum.

public import CCapture

extension Tracker {
  /// Captures an event.
  ///
  /// Never throws. With a hand-written ``Event/encode(into:)`` it does not wait, lock, allocate or call the system
  /// either. The fields are written in place into the calling thread's lane, in mapped memory, and published with one
  /// store. That takes some tens of nanoseconds. Events encoded by `Codable` take some 600 nanoseconds, and allocate.
  /// Two captures are slower: the first event of a type defines the type, and the first event of a thread takes a lane.
  ///
  /// While the lane is full, a capture may wait under ``OverflowPolicy/block``, and waits for at most a millisecond
  /// under ``OverflowPolicy/dropOldest``.
  ///
  /// **Crash.** Once this returns ``Receipt/accepted(_:)``, the event survives the death of the process, at any
  /// instruction.
  ///
  /// **Order.** Events of one thread keep their order in the log as long as the thread has a lane of its own. Offsets
  /// don't order the events of different threads, or of threads that share the spare lanes: compare
  /// ``StoredEvent/time`` instead.
  ///
  /// **Threads.** Any thread may call this, also from ``Event/encode(into:)`` while another capture of the thread is in
  /// progress.
  @inlinable
  @inline(__always)
  @discardableResult
  public func track<E: Event>(_ event: E) -> Receipt {
    // The log must outlive the capture, but the compiler sees no use of `self` after the log's address is loaded.
    withExtendedLifetime(self) {
      guard let types = weir_find_owner(log, Self.owner(E.self)) ?? types(definedFor: E.self) else {
        return refuseUndefined()
      }
      return capture(event, types)
    }
  }

  /// Captures events, in order. Each event costs as much as with ``track(_:)``. Returns how many events were accepted,
  /// and how many were dropped for each reason.
  @inlinable
  @discardableResult
  public func track<E: Event>(contentsOf events: some Sequence<E>) -> BulkReceipt {
    var receipt = BulkReceipt()
    for event in events { receipt.add(track(event)) }
    return receipt
  }

  /// Captures an event that has no Swift type, only a name and named fields.
  ///
  /// ```swift
  /// tracker.track("page.viewed", fields: ["path": "/index.html", "status": 200])
  /// ```
  ///
  /// Costs a few tens of nanoseconds more than an event with a type. The log stores the fields' names with each event.
  /// The event is dropped as ``DropReason/invalid`` if its name is empty, longer than 1,024 bytes or starts with
  /// `weir.`, or if its values are nested more than 16 deep.
  @discardableResult
  public func track(_ name: String, fields: FieldObject = [:]) -> Receipt {
    let isValid = 1...EventType.maximumNameBytes ~= name.utf8.count && !name.hasPrefix(EventType.reservedPrefix)
    return capture(name, fields, isValid: isValid)
  }

  /// Captures an event without a type. Refuses and counts the event if `isValid` is `false`.
  package func capture(_ name: String, _ fields: FieldObject, isValid: Bool) -> Receipt {
    withExtendedLifetime(self) {
      let scope = weir_scopes_bound() != 0 ? scopeHere() : nil
      var encoder = EventEncoder(self)
      let drop = weir_begin(log, &encoder.record)
      guard drop == WEIR_ACCEPTED else { return .refused(drop) }
      encoder.begin(0)
      encoder.putText(name)
      encoder.putTaggedMembers(fields, depth: 0)
      guard isValid, encoder.index == 0 else {
        return .refused(LogHandle.refuseInvalid(&encoder.record))
      }
      if let sampler, !name.hasPrefix(EventType.reservedPrefix),
        !sampler.keeps(encoder.record, userKey: userKey(scope), event: name)
      {
        return .refused(weir_refuse(&encoder.record, Int32(WEIR_DROP_SAMPLED)))
      }
      return Self.commit(&encoder.record, LogHandle.dynamicType, scope)
    }
  }

  // MARK: The steps of a capture

  /// The number that stands for a type in the core: the address of the type's metadata, which is unique.
  @inlinable
  @inline(__always)
  static func owner<E: Event>(_ type: E.Type) -> UInt64 {
    UInt64(UInt(bitPattern: ObjectIdentifier(type)))
  }

  /// Captures an event whose type is defined.
  @inlinable
  @inline(__always)
  func capture<E: Event>(_ event: E, _ types: UnsafePointer<weir_type_slot>) -> Receipt {
    // Loaded first, so that the processor looks up the task-local value while the event is encoded.
    var scope: UnsafeRawPointer?
    if weir_scopes_bound() != 0 { scope = scopeHere() }
    var encoder = EventEncoder(self)
    let drop = weir_begin(log, &encoder.record)
    guard drop == WEIR_ACCEPTED else { return .refused(drop) }
    event.encode(into: &encoder)
    let index = encoder.index
    // All exceptions share one exit from the fast path: with a second exit, the compiler does not inline `track`.
    guard index < types.pointee.count, encoder.record.signature == types.pointee.signatures[Int(index)],
      scope == nil
    else {
      return finish(.init(encoder.record), .init(encoder.record), index, encoder.outcome, types, scope, E.self)
    }
    return Self.publish(&encoder.record, types.pointee.first &+ index)
  }

  /// Publishes an event as it is.
  @inlinable
  @inline(__always)
  static func publish(_ record: inout weir_record, _ type: UInt32) -> Receipt {
    var id = weir_id()
    let drop = weir_commit(&record, type, &id)
    guard drop == WEIR_ACCEPTED else { return .refused(drop) }
    return .accepted(EventID(opening: id.opening, sequence: id.sequence))
  }

  /// Ends a capture that left the fast path, for one of these reasons: a scope is bound; the type is sampled; the event
  /// named its own type; the event is already refused; the event does not match its declaration, and is refused here.
  ///
  /// The record comes in two halves, so that it is passed in registers.
  @usableFromInline
  func finish<E: Event>(
    _ place: RecordPlace, _ state: RecordState, _ index: UInt32, _ outcome: UInt32,
    _ types: UnsafePointer<weir_type_slot>, _ scope: UnsafeRawPointer?, _ type: E.Type
  ) -> Receipt {
    var record = weir_record(place, state)
    if index < types.pointee.count {
      let number = types.pointee.first &+ index
      let signature = types.pointee.signatures[Int(index)]
      if record.signature == signature { return Self.commit(&record, number, scope) }
      // A sampled type has its signature inverted, so that types that are not sampled pay nothing.
      if let sampler, record.signature == ~signature {
        return commitSampled(record, number, sampler, scope, of: type) { type.eventTypes[Int(index)].name }
      }
    } else if index == EventEncoder.named {
      return Self.commit(&record, outcome, scope)
    } else if index == EventEncoder.ended {
      return .refused(Int32(truncatingIfNeeded: outcome))
    }
    note(type, misuse(index, type.eventTypes))
    return .refused(LogHandle.refuseInvalid(&record))
  }

  /// Describes how an encoder was used against its declaration.
  private func misuse(_ index: UInt32, _ types: [EventType]) -> String {
    switch index {
    case EventEncoder.unset:
      return "encode(into:) did not call begin; call it with an index into eventTypes before the fields are put"
    case EventEncoder.misused:
      return "encode(into:) called begin twice or out of range, or put a value that its kind does not allow"
    default:
      guard index < types.count else {
        return "encode(into:) called begin(\(index)), but eventTypes declares \(types.count) events"
      }
      return "encode(into:) put other kinds of fields than eventTypes declares for \(types[Int(index)].name)"
    }
  }

  /// Defines a type's events, at the type's first event. Returns `nil` if they can't be defined, after noting the
  /// reason.
  ///
  /// Takes the type instead of the event: passing the event would store the event in memory and retain its strings.
  @usableFromInline
  @inline(never)
  func types<E: Event>(definedFor type: E.Type) -> UnsafePointer<weir_type_slot>? {
    define(type) ? weir_find_owner(log, Self.owner(type)) : nil
  }

  /// Refuses and counts an event whose type can't be defined.
  @usableFromInline
  @inline(never)
  func refuseUndefined() -> Receipt {
    var record = weir_record()
    let drop = weir_begin(log, &record)
    guard drop == WEIR_ACCEPTED else { return .refused(drop) }
    return .refused(LogHandle.refuseInvalid(&record))
  }
}

// track: the calls that capture events. What is marked inlinable compiles into the caller, down to the checksum.

public import CCapture

extension Tracker {
  /// Captures an event.
  ///
  /// Does not throw. With a hand-written ``Event/encode(into:)`` it does not wait, lock, allocate or call the system
  /// either: the fields are written in place into the calling thread's lane, in mapped memory, and published with one
  /// store, in some tens of nanoseconds. Events that are encoded by `Codable` take some 600 nanoseconds, and
  /// allocate. The first event of a type defines it, and the first event of a thread takes a lane: these two are slower.
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
    let isValid = 1...EventType.maximumNameBytes ~= name.utf8.count && !name.hasPrefix(EventType.reservedPrefix)
    return capture(name, fields, isValid: isValid)
  }

  /// Captures an event without a type. One that is not valid is refused, and counted.
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
    // Asked for first: the processor looks the task's value up while the event is encoded, and not after it.
    var scope: UnsafeRawPointer?
    if weir_scopes_bound() != 0 { scope = scopeHere() }
    var encoder = EventEncoder(self)
    let drop = weir_begin(log, &encoder.record)
    guard drop == WEIR_ACCEPTED else { return .refused(drop) }
    event.encode(into: &encoder)
    let index = encoder.index
    // One way off the straight path, for all that may be: with a second one the compiler left `track` out of line.
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

  /// Ends a capture off the straight path: something is bound around it, or its event did not come out as its
  /// declaration has it. Then it is of a type that is sampled, named its own type, or was refused already, or is to be.
  ///
  /// The record comes in two halves because that is how it comes in registers.
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
      // A type that is sampled has its signature inverted, so that those which are not pay nothing.
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

  /// How an encoder was used against its declaration.
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

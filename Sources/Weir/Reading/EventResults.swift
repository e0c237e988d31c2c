// EventResults: a log read event by event, going on after an event that can't be read.

/// The events of a log, read one by one as the loop asks for them. Each element is an event, or says which event can't
/// be read and why; the loop goes on after it.
///
/// ```swift
/// for result in LogDirectory("/var/lib/shop/events").results(of: Checkout.self) {
///   switch result {
///   case .success(let recorded): print(recorded.offset, recorded.event)
///   case .failure(let unreadable): print("passed over: \(unreadable)")
///   }
/// }
/// ```
///
/// Takes a block and the log's definitions as memory, however large the log is. Of a log that a process is writing, a
/// loop gives what is drained when the loop comes to the end. Where the log itself can't be read (a failing disk), the
/// last element says so. Damage is passed over; an ``EventReader`` tells of it.
///
/// A loop reads from the files, on the calling thread. Each loop over the same value reads the log anew. Any thread may
/// loop.
public struct EventResults<Event: Sendable>: Sequence, Sendable {
  public typealias Element = Result<Event, UnreadableEvent>

  private let directory: String
  private let from: Offset
  /// The offset that the loop ends at; nil for the end of the log.
  private let end: Offset?
  /// What went wrong before the first event.
  private let failure: WeirError?
  /// The element that an event comes to; nil for an event that is left out.
  private let decode: @Sendable (StoredEvent) throws -> Event?

  init(
    directory: String, from: Offset, end: Result<Offset?, WeirError> = .success(nil),
    decode: @escaping @Sendable (StoredEvent) throws -> Event?
  ) {
    self.directory = directory
    self.from = from
    self.decode = decode
    switch end {
    case .success(let end): (self.end, failure) = (end, nil)
    case .failure(let error): (self.end, failure) = (nil, error)
    }
  }

  public func makeIterator() -> Iterator {
    if let failure { return Iterator(.failure(failure), end, decode) }
    do throws(WeirError) {
      return Iterator(.success(try EventReader(directory: directory, from: from)), end, decode)
    } catch {
      return Iterator(.failure(error), end, decode)
    }
  }

  /// Reads the events. Belongs to one thread at a time.
  public struct Iterator: IteratorProtocol {
    /// Nil at the end.
    private var reader: Result<EventReader, WeirError>?
    private let end: Offset?
    private let decode: @Sendable (StoredEvent) throws -> Event?

    fileprivate init(
      _ reader: Result<EventReader, WeirError>, _ end: Offset?,
      _ decode: @escaping @Sendable (StoredEvent) throws -> Event?
    ) {
      self.reader = reader
      self.end = end
      self.decode = decode
    }

    public mutating func next() -> Result<Event, UnreadableEvent>? {
      do throws(WeirError) {
        while let stored = try reader?.get().next(), stored.offset < end ?? .max {
          do {
            if let event = try decode(stored) { return .success(event) }
          } catch {
            return .failure(UnreadableEvent(stored: stored, reason: error))
          }
        }
      } catch {
        reader = nil
        return .failure(UnreadableEvent(stored: nil, reason: error))
      }
      reader = nil
      return nil
    }
  }
}

/// An event that its type can't read, or a log that can't be read.
public struct UnreadableEvent: Error, CustomStringConvertible {
  /// The event as the log has it; `nil` if the log itself can't be read.
  public let stored: StoredEvent?

  /// Why: what ``Event/init(_:)`` threw, or a ``WeirError``.
  public let reason: any Error

  public var description: String {
    guard let stored else { return "\(reason)" }
    return "\(stored.name) at offset \(stored.offset): \(reason)"
  }
}

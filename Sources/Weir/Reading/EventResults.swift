// EventResults: reads a log event by event, and continues after an event that can't be read.

/// The events of a log, read one by one. Each element is an event, or says which event can't be read and why. The loop
/// continues after such an event.
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
/// **Live logs.** If a process is writing the log, a loop ends after the events that are drained when it reaches the
/// end.
///
/// **Errors.** If the log itself can't be read (a failing disk), the last element is the error. Damage is skipped. Use
/// an ``EventReader`` to learn about damage.
///
/// **Threads.** Any thread may loop. A loop reads the files on the calling thread. Each loop over the same value reads
/// the log again.
///
/// **Memory.** One block and the log's definitions, whatever the size of the log.
public struct EventResults<Event: Sendable>: Sequence, Sendable {
  public typealias Element = Result<Event, UnreadableEvent>

  private let directory: String
  private let from: Offset
  /// The offset after the last event to read; `nil` for the end of the log.
  private let end: Offset?
  /// The error that occurred before the first event.
  private let failure: WeirError?
  /// Turns an event into an element, or into `nil` to leave the event out.
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
    /// `nil` after the last element.
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
  /// The event as stored in the log; `nil` if the log itself can't be read.
  public let stored: StoredEvent?

  /// The error: what ``Event/init(_:)`` threw, or a ``WeirError``.
  public let reason: any Error

  public var description: String {
    guard let stored else { return "\(reason)" }
    return "\(stored.name) at offset \(stored.offset): \(reason)"
  }
}

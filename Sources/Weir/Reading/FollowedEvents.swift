// FollowedEvents: a log as an asynchronous sequence that goes on as events come.

/// The events of a log as they come, in order of offset, without an end. Made by ``LogDirectory/follow(from:onSkip:)``
/// and ``Tracker/follow(from:onSkip:)``.
///
/// ```swift
/// for try await event in LogDirectory("/var/lib/shop/events").follow(from: 5000) {
///   print(event.offset, event.name, event.fields)
/// }
/// ```
///
/// First what is in the log, then whatever is drained into it, within milliseconds: through the sealing, beginning and
/// removal of segments, the death of the process that writes, and the next one that does. Every event comes once. What
/// was removed or damaged is passed over and given to `onSkip`.
///
/// Any number of processes and tasks may follow a log; whoever writes it neither knows nor is held up. Nothing is
/// written and no lock is taken. A task that waits holds no thread: it sleeps between looks, 0.2 ms after an event was
/// given and twice as long each time, up to 20 ms. (Nothing tells it: a captured event is a store into mapped memory,
/// which Linux notifies nobody of.) Reading itself is done on the task's thread, a block at a time, from the page cache
/// if the event is new.
///
/// The sequence ends with nil when its task is cancelled, and with a ``WeirError`` where the log can't be read: with
/// code `missing`, `directory`, `access`, `version`, `io` or `memory`. The code is `missing`, too, where the directory
/// is removed meanwhile; a log that is made there anew is another one. Each iterator reads anew from the first offset,
/// and takes up to 2 MiB.
public struct FollowedEvents: AsyncSequence, Sendable {
  public typealias Element = StoredEvent
  public typealias Failure = WeirError

  /// The log's directory.
  public let directory: String
  /// The first offset that is wanted.
  public let from: Offset
  private let onSkip: @Sendable (EventReader.Skip) -> Void

  init(directory: String, from: Offset, onSkip: @escaping @Sendable (EventReader.Skip) -> Void) {
    self.directory = directory
    self.from = from
    self.onSkip = onSkip
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(self)
  }

  /// Belongs to one task at a time.
  public struct Iterator: AsyncIteratorProtocol {
    private static let leastPause = Duration.microseconds(200)
    private static let mostPause = Duration.milliseconds(20)

    private let events: FollowedEvents
    /// Opened by the first call, since making an iterator can't fail.
    private var reader: EventReader?
    private var pause = Self.leastPause

    fileprivate init(_ events: FollowedEvents) {
      self.events = events
    }

    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(WeirError) -> StoredEvent? {
      let reader = try openedReader()
      while !Task.isCancelled {
        if let event = try reader.next() {
          pause = Self.leastPause
          return event
        }
        repeat {
          do { try await Task.sleep(for: pause) } catch { return nil }
          pause = Swift.min(pause * 2, Self.mostPause)
        } while !reader.wait(upTo: .zero)
      }
      return nil
    }

    private mutating func openedReader() throws(WeirError) -> EventReader {
      if let reader { return reader }
      let opened = try EventReader(directory: events.directory, from: events.from)
      opened.onSkip = events.onSkip
      reader = opened
      return opened
    }
  }
}

extension LogDirectory {
  /// The events of this log from `from` on, as they come, in whatever process they are captured.
  public func follow(
    from: Offset = 0, onSkip: @escaping @Sendable (EventReader.Skip) -> Void = { _ in }
  ) -> FollowedEvents {
    FollowedEvents(directory: path, from: from, onSkip: onSkip)
  }
}

extension Tracker {
  /// The events of this tracker's log from `from` on, as they are drained: within the drain interval of their capture.
  public func follow(
    from: Offset = 0, onSkip: @escaping @Sendable (EventReader.Skip) -> Void = { _ in }
  ) -> FollowedEvents {
    FollowedEvents(directory: directory, from: from, onSkip: onSkip)
  }
}

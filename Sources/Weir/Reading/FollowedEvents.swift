// FollowedEvents: a log as an asynchronous sequence that continues as events are captured.

/// The events of a log, in order of offset, without an end. Returned by ``LogDirectory/follow(from:onSkip:)`` and
/// ``Tracker/follow(from:onSkip:)``.
///
/// ```swift
/// for try await event in LogDirectory("/var/lib/shop/events").follow(from: 5000) {
///   print(event.offset, event.name, event.fields)
/// }
/// ```
///
/// First come the events in the log, then each further event, within milliseconds of its draining. The sequence
/// continues while segments are sealed, begun and removed, and when the writing process dies and another process opens
/// the log. Each event comes once. Stretches that were removed or are damaged are skipped and passed to `onSkip`.
///
/// **Cost.** Any number of processes and tasks may follow a log. The writer does not notice them. Following writes
/// nothing and takes no lock. A waiting task holds no thread. It sleeps between looks: for 0.2 ms after an event, then
/// twice as long each time, up to 20 ms. The task must look, because a capture is a store into mapped memory, and Linux
/// notifies nobody of such a store. Reading runs on the task's thread, a block at a time, and new events come from the
/// page cache. Each iterator starts from the first offset, and takes up to 2 MiB.
///
/// **Silence.** After two seconds without an event, the task looks every five seconds, and the system wakes it when the
/// writer continues (<doc:Threads>). If the system can't, because all instances of inotify are in use, the task looks
/// every 20 ms. On files that another machine writes, the first event after a silence may come five seconds late.
///
/// **Errors.** The sequence ends when its task is cancelled. It throws a ``WeirError`` if the log can't be read, with
/// the code `missing`, `directory`, `access`, `version`, `io` or `memory`. If the directory is removed while the log is
/// followed, the code is `missing`. A new log in the same place is a different log.
public struct FollowedEvents: AsyncSequence, Sendable {
  public typealias Element = StoredEvent
  public typealias Failure = WeirError

  /// The log's directory.
  public let directory: String
  /// The first offset to read.
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
    /// The longest sleep of a task that the system wakes. A timer wakes several threads.
    private static let watchedPause = Duration.seconds(5)
    private static let clock = DeliveryClock(ContinuousClock())

    private let events: FollowedEvents
    /// `nil` until the first call, because making an iterator can't fail.
    private var reader: EventReader?
    private let alarm = Alarm()

    fileprivate init(_ events: FollowedEvents) {
      self.events = events
    }

    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(WeirError) -> StoredEvent? {
      let reader = try openedReader()
      while !Task.isCancelled {
        if let event = try reader.next() { return event }
        repeat {
          guard await Self.rest(until: reader.nextLook(), alarm) else { return nil }
        } while !reader.wait(upTo: .zero)
      }
      return nil
    }

    /// Sleeps until the next look. Returns `false` if the task was cancelled.
    private static func rest(until look: EventReader.NextLook, _ alarm: Alarm) async -> Bool {
      // A watch costs more than a short sleep.
      guard look.pause >= .seconds(1), let descriptor = look.descriptor,
        let watch = DescriptorWatch(descriptor, rings: alarm)
      else {
        do { try await Task.sleep(for: look.pause) } catch { return false }
        return true
      }
      let end = clock.now + watchedPause
      await withTaskCancellationHandler {
        await alarm.wait(until: end, clock)
      } onCancel: {
        alarm.ring()
      }
      withExtendedLifetime(watch) {}
      return !Task.isCancelled
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
  /// Returns the events of this log from offset `from` on, as they are captured, in any process.
  public func follow(
    from: Offset = 0, onSkip: @escaping @Sendable (EventReader.Skip) -> Void = { _ in }
  ) -> FollowedEvents {
    FollowedEvents(directory: path, from: from, onSkip: onSkip)
  }
}

extension Tracker {
  /// Returns the events of this tracker's log from offset `from` on, as they are drained. An event is drained
  /// within the drain interval of its capture, and then found as ``FollowedEvents`` says.
  public func follow(
    from: Offset = 0, onSkip: @escaping @Sendable (EventReader.Skip) -> Void = { _ in }
  ) -> FollowedEvents {
    FollowedEvents(directory: directory, from: from, onSkip: onSkip)
  }
}

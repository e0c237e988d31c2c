// JSONLinesProvider: delivers events to files, as one line of JSON each.

import Dispatch
public import Logging
import Weir

/// Delivers events to rotating files of JSON lines in a directory. `lz4 -dc`, `jq` and every log collector can read the
/// files.
///
/// ```swift
/// var options = JSONLinesProvider.Options()
/// options.isCompressed = true
/// try dispatcher.add(JSONLinesProvider("/var/spool/shop", options: options))
/// ```
///
/// Each line is an event in the form of ``EventJSON``. A finished file is named `NAME-FIRST-LAST-OPENING.jsonl`, or
/// `.jsonl.lz4`. FIRST and LAST are the offsets of its first and last event, with 20 digits, so that the names sort
/// like the events. OPENING is the `EventID.opening` that captured the events. A finished file never changes, and may
/// be moved or removed. The name of the one open file also has `.open-` and the number of bytes that count; read only
/// these bytes.
///
/// **Acknowledgement.** ``Verdict/accepted`` is returned after the events are synced, the file is renamed to the name
/// that includes them, and the directory is synced. The rename is the acknowledgement. After a kill or a power cut at
/// any moment, the next ``setup()`` cuts off all bytes beyond the acknowledged bytes, and finishes the file. So the
/// files contain exactly the acknowledged events, in whole lines.
///
/// **Duplicates.** If an event is delivered again, after a kill or because a cursor was lost, the provider recognises
/// the event by its opening and offset. While the event's file exists, the provider accepts the event without writing
/// it again. If the file was taken away, the event is written again, with the same id.
///
/// **Users.** The user is in each event's context. Changes of the default user are not written as lines.
///
/// **Errors.** A missing directory is created. A full disk, a directory without write permission, and another process
/// that writes files under this name cause an error with the reason, and the events are delivered again. A file in the
/// directory's place stops delivery.
///
/// **Permissions.** Like the log, the directory and the files are accessible only to their owner (modes 0700 and 0600),
/// because they contain user data in clear text. No option changes this. Run other readers as this user, or pass them
/// the finished files, which never change. An existing directory keeps its mode.
///
/// **Disk space.** The provider never removes a file. Whoever takes the files must limit the size of the directory.
///
/// **Cost and threads.** A delivery costs two syncs: one of the file and one of the directory. If syncs are slow, make
/// deliveries large with ``FlushPolicy/interval`` and ``FlushPolicy/maximumEvents``. The provider works on its own
/// dispatch queue, off the threads of Swift's tasks. It uses up to 2 MiB of memory for encoding, and some memory for
/// the names of its files.
public actor JSONLinesProvider: Provider, EncodedEventProvider {
  /// The options of the files.
  public struct Options: Sendable {
    /// The size at which a file is finished, in bytes. The delivery that reaches the size is the file's last. Default
    /// 64 MiB; at least 1.
    public var fileBytes = 64 << 20

    /// The time from a file's first event until the file is finished, if nothing finishes it earlier. Default 5
    /// minutes.
    public var fileAge = Duration.seconds(300)

    /// Whether the files consist of LZ4 frames, one for each delivery or mebibyte, and end in `.jsonl.lz4`. Default
    /// `false`.
    public var isCompressed = false

    /// The form of the lines.
    public var json = EventJSON()

    /// The logger for problems that no delivery can report. `nil` logs nothing.
    public var logger: Logger? = Logger(label: "weir.files")

    /// Creates options with the default values.
    public init() {}
  }

  /// The name of the cursor, and the prefix of the files' names.
  public nonisolated let name: String

  /// The directory of the files.
  package nonisolated let directory: String

  public nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  package nonisolated var takesEncodedEvents: Bool { true }

  private let options: Options
  private let clock: any Clock<Duration>
  private let calls: SystemCalls
  private let queue: DiskQueue
  /// `nil` before the setup, and after an error.
  private var files: JSONLinesDirectory?
  private var rotation: Task<Void, Never>?

  /// Creates a provider that writes files in `directory`.
  ///
  /// - Parameters:
  ///   - directory: The directory of the files. Created if it is missing. Several providers with different names may
  ///     share it.
  ///   - name: At most 64 letters, digits, `-` and `_`. The name identifies the cursor and the files, so the name must
  ///     never change.
  ///   - options: The options of the files.
  ///   - clock: The clock for ``Options/fileAge``.
  public init(
    _ directory: String, name: String = "files", options: Options = Options(),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.init(directory, name: name, options: options, clock: clock, calls: SystemCalls())
  }

  init(_ directory: String, name: String, options: Options, clock: any Clock<Duration>, calls: SystemCalls) {
    self.directory = directory
    self.name = name
    self.options = options
    self.clock = clock
    self.calls = calls
    queue = DiskQueue("weir.files.\(name)")
  }

  /// Creates and opens the directory, and finishes files that a kill left open. Throws ``DeliveryStopped`` if a file is
  /// in the directory's place, or if the provider's name can't be part of a file name. Throws a `WeirError` for
  /// temporary problems.
  public func setup() async throws {
    _ = try opened()
  }

  public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    guard !events.isEmpty else { return [] }
    let files = try opened()
    try whole { () throws(WeirError) in
      try ProcessorMeter.measure { () throws(WeirError) in try files.write(events) }
    }
    if !files.isOpen { endRotation() } else if rotation == nil { startRotation() }
    return [Verdict](repeating: .accepted, count: events.count)
  }

  /// Finishes the open file, and closes the directory.
  public func shutdown() async {
    endRotation()
    do {
      try files?.finish()
    } catch {
      // The next setup finishes the file.
      report(error)
    }
    files = nil
  }

  private func opened() throws -> JSONLinesDirectory {
    if let files { return files }
    do throws(WeirError) { try Cursor.checkProviderName(name) } catch { throw DeliveryStopped(error.message) }
    guard !directory.isEmpty, !directory.utf8.contains(0) else {
      throw DeliveryStopped("\(directory.debugDescription) is not a valid path of a directory; use another path")
    }
    let opened = try whole { () throws(WeirError) in
      try JSONLinesDirectory(directory, of: name, options, calls)
    }
    files = opened
    return opened
  }

  /// Performs an operation on the files. After an error, the files must be opened again.
  private func whole<Answer>(_ body: () throws(WeirError) -> Answer) throws -> Answer {
    do throws(WeirError) {
      return try body()
    } catch {
      files = nil
      if error.code == .directory {
        throw DeliveryStopped(
          "\(directory) can't be used as a directory: \(error.message); move the file away, or use another path")
      }
      throw error
    }
  }
}

// MARK: Rotation by age

extension JSONLinesProvider {
  private func startRotation() {
    rotation = Task { [weak self, clock, age = options.fileAge] in
      while (try? await clock.sleep(for: age)) != nil {
        guard let self, await self.rotate() == false else { return }
      }
    }
  }

  private func endRotation() {
    rotation?.cancel()
    rotation = nil
  }

  /// Finishes the open file. Returns `false` if this must be tried again.
  private func rotate() -> Bool {
    // If the task was cancelled while it waited for its turn, its file is already finished.
    guard !Task.isCancelled else { return true }
    do {
      // After an error, the opening finishes the file that was left open.
      let files = try opened()
      try whole { () throws(WeirError) in try files.finish() }
      rotation = nil
      return true
    } catch {
      report(error)
      return false
    }
  }

  private func report(_ error: any Error) {
    options.logger?.warning(
      "a file of delivered events can't be finished now; this will be tried again",
      metadata: ["provider": "\(name)", "directory": "\(directory)", "error": "\(error)"])
  }
}

/// The queue on which an actor works, so that waiting for the disk blocks no thread of Swift's tasks.
private final class DiskQueue: SerialExecutor {
  private let queue: DispatchQueue

  init(_ label: String) {
    queue = DispatchQueue(label: label)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}

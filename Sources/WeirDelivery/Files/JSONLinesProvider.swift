// JSONLinesProvider: delivery to files, a line of JSON an event.

import Dispatch
public import Logging
import Weir

/// Delivers to rotating files of JSON lines in a directory; `lz4 -dc`, `jq` and every log collector read them.
///
/// ```swift
/// var options = JSONLinesProvider.Options()
/// options.isCompressed = true
/// try dispatcher.add(JSONLinesProvider("/var/spool/shop", options: options))
/// ```
///
/// A line is an event in the form of ``EventJSON``. A finished file is named
/// `NAME-FIRST-LAST-OPENING.jsonl`, or `.jsonl.lz4`: by the offsets of its first and last event, with 20 digits, so
/// that names sort as the events do, and by the `EventID.opening` that captured them. It is never touched again; who
/// takes the files may move or remove them. The one file that still grows has `.open-` and the number of bytes that
/// count after that: whoever reads it reads so many.
///
/// **What accepted means.** ``Verdict/accepted`` is answered when the events are synced to the disk, the file has the
/// name that says that it has them, and the directory is synced: the rename is the acknowledgement. After a kill or a
/// power cut at any moment the files hold exactly what was acknowledged, in whole lines: the next ``setup()`` cuts off
/// what lies beyond, and finishes the file.
///
/// **Once.** An event that comes again, after a kill or because a cursor was lost, is recognised by its opening and
/// offset, and accepted without being written again, as long as its file is there. If that was taken away the event is
/// written again, with the same id.
///
/// **Users** are in each event's context; associations make no lines of their own.
///
/// A missing directory is made. A full disk, a directory that can't be written, and another process that writes files
/// of this name there throw an error that says so, and the events come again; a file in the directory's place stops
/// delivery. The directory and the files belong to their owner alone (mode 0700 and 0600), as the log itself does: they
/// have what users did, in clear, and no option opens them by mistake. Who else is to read them runs as this user, or
/// is given the finished files, which are never touched again. A directory that was there keeps its mode. What the
/// directory may hold is up to who takes the files: nothing in it is ever removed.
///
/// Costs two syncs a delivery, one of the file and one of the directory: ask for large deliveries, with
/// ``FlushPolicy/interval`` and ``FlushPolicy/maximumEvents``, where they are slow. Works off the threads of Swift's
/// tasks, on a queue of its own; takes up to 2 MiB for encoding, and what the names of its files take.
public actor JSONLinesProvider: Provider {
  /// How the files are written.
  public struct Options: Sendable {
    /// The delivery that brings a file to so many bytes is its last. 64 MiB; at least 1.
    public var fileBytes = 64 << 20

    /// A file is finished so long after its first event, if nothing else finishes it before. 5 minutes.
    public var fileAge = Duration.seconds(300)

    /// The files are LZ4 frames, one a delivery or a mebibyte: `.jsonl.lz4`. False.
    public var isCompressed = false

    /// The form of the lines.
    public var json = EventJSON()

    /// Where trouble is reported that no delivery can tell of; nil for nowhere.
    public var logger: Logger? = Logger(label: "weir.files")

    /// The defaults.
    public init() {}
  }

  /// The name of the cursor, and the beginning of the files' names.
  public nonisolated let name: String

  /// Where the files are.
  package nonisolated let directory: String

  public nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  private let options: Options
  private let clock: any Clock<Duration>
  private let calls: SystemCalls
  private let queue: DiskQueue
  /// Nil before the setup, and after an error.
  private var files: JSONLinesDirectory?
  private var rotation: Task<Void, Never>?

  /// A provider that writes into `directory`.
  ///
  /// - Parameters:
  ///   - directory: It is made if it is missing. Several providers may share it under several names.
  ///   - name: Letters, digits, `-` and `_`, at most 64 of them. It names the cursor and the files, and so must stay.
  ///   - options: How the files are written.
  ///   - clock: What ``Options/fileAge`` goes by.
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

  /// Makes and opens the directory, and finishes what a kill left open. Throws ``DeliveryStopped`` if a file is in its
  /// place, or the name can't be a file's, and a `WeirError` for what may pass.
  public func setup() async throws {
    _ = try opened()
  }

  public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    guard !events.isEmpty else { return [] }
    let files = try opened()
    try whole { () throws(WeirError) in try files.write(events) }
    if !files.isOpen { endRotation() } else if rotation == nil { startRotation() }
    return events.map { _ in .accepted }
  }

  /// Finishes the open file, and lets go of the directory.
  public func shutdown() async {
    endRotation()
    do {
      try files?.finish()
    } catch {
      // The next setup finishes it.
      report(error)
    }
    files = nil
  }

  private func opened() throws -> JSONLinesDirectory {
    if let files { return files }
    guard Cursor.isProviderName(name) else {
      throw DeliveryStopped(
        "\(name.debugDescription) can't name files; a provider's name has letters, digits, - and _, 1 to "
          + "\(Cursor.maximumNameBytes) of them")
    }
    guard !directory.isEmpty, !directory.utf8.contains(0) else {
      throw DeliveryStopped("\(directory.debugDescription) can't be a directory; name one")
    }
    let opened = try whole { () throws(WeirError) in
      try JSONLinesDirectory(directory, of: name, options, calls)
    }
    files = opened
    return opened
  }

  /// Does something to the files; after an error they are to be opened anew.
  private func whole<Answer>(_ body: () throws(WeirError) -> Answer) throws -> Answer {
    do throws(WeirError) {
      return try body()
    } catch {
      files = nil
      if error.code == .directory {
        throw DeliveryStopped(
          "\(directory) can't be a directory of files: \(error.message); move what is there away, or name another")
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

  /// Finishes the open file; false if that is to be tried again.
  private func rotate() -> Bool {
    // Cancelled while it waited for its turn: the file that it is about is finished already.
    guard !Task.isCancelled else { return true }
    do {
      // After an error there is a file left open that the opening finishes.
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
      "a file of delivered events can't be finished now; it will be later",
      metadata: ["provider": "\(name)", "directory": "\(directory)", "error": "\(error)"])
  }
}

/// A queue that an actor works on, so that waiting for the disk takes no thread from Swift's tasks.
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

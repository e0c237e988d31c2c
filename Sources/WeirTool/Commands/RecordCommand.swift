// RecordCommand: `weir record`: captures events from a file or standard input into a log.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirDelivery

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  enum InputFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
    case lines
    case clf
    case jsonl
  }

  struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "record",
      abstract: "Record events from a file or standard input.",
      discussion: """
        Every line becomes one event. A newline ends a line. A last line without a \
        newline counts, and so do empty lines.

        Formats:
          lines  Event `line`, field `text`: the exact line, including a carriage
                 return. A line that is not UTF-8 is in the field `bytes` instead.
          clf    Apache's combined log. Event `request`, fields host, ident, user,
                 time, method, path, protocol, status, bytes, referrer, agent. Text is
                 kept as the server wrote it, including escapes; "-" is null; `time` is
                 the instant, without its zone.
          jsonl  One JSON object per line, {"event":"name","fields":{…}}, with exactly
                 these two members: an event of that name, with these fields in their
                 order. Numbers are 64-bit integers where they fit, else doubles.
        With clf and jsonl, a line that does not match the format exactly becomes the \
        event `malformed`, with the exact line in `text` (or `bytes`). No line is left \
        out, and nothing is guessed.

        With --threads N, line n is recorded by thread (n - 1) mod N. The events of \
        each thread are in the log in the order of its lines, and their ids name one \
        lane. With --repeat, the line numbers continue through the repetitions.

        If a lane is full, its thread waits: nothing is dropped. An event over the size \
        limit, 69,632 bytes of encoded fields, is refused, counted in the log, and \
        reported on standard error; recording continues, and the exit code is 4. On a \
        full disk, or at --max-bytes, recording stops, keeps the recorded events, and \
        exits with 3. Events that --drop-oldest and --retain remove are counted in the \
        last line, and are no error. SIGINT and SIGTERM close the log in order; a \
        second signal ends the command at once. After any other end, including kill -9, \
        the next opening recovers everything that was captured.

        With --to or --plan, the events are also delivered, as with weir deliver, from the first \
        event on. At the end of the input, the command runs until all events are \
        delivered, or until --budget ends. The exit code is then one of weir deliver's. \
        With --remove-delivered, a segment is removed from the log when every provider \
        that the log knows has settled its events, including the providers of a weir \
        deliver beside this command.

        Examples:
          weir record events access.log --format clf
          tail -F app.log | weir record events
          weir record events big.log --threads 4 --repeat 10
          producer | weir record events --format jsonl --acknowledge | consumer
          tail -F app.log | weir record events --to out --remove-delivered
        """)

    @Argument(help: "The log's directory. It is created if it does not exist.", completion: .directory)
    var directory: String

    @Argument(help: "The input. Standard input if omitted, or if -.", completion: .file())
    var file: String?

    @Option(help: "The input format: lines, clf or jsonl.")
    var format: InputFormat = .lines

    @Option(help: "The number of capturing threads: 1 to \(RecordLimits.threads).")
    var threads = 1

    @Option(
      name: .customLong("repeat"),
      help: "How often the whole input is recorded. The input is read once, and kept in memory if this is above 1.")
    var repetitions: UInt64 = 1

    @Flag(
      help: """
        Print each line's number to standard output, with one unbuffered write, after the line has been captured. From \
        then on no kill loses the line.
        """)
    var acknowledge = false

    @Option(help: "The size of a thread's lane, a power of two such as 1M. The log's default if omitted.")
    var laneBytes: ByteCount?

    @Option(help: "The size of a segment file while it is written, such as 8M. The log's default if omitted.")
    var segmentBytes: ByteCount?

    @Option(
      help: """
        The directory of the ring, on tmpfs such as /dev/shm/events. The log's directory if omitted.
        """,
      completion: .directory)
    var ringDirectory: String?

    @Option(help: "The maximum size of all the log's files on disk, such as 1G. No limit if omitted.")
    var maxBytes: ByteCount?

    @Flag(help: "At --max-bytes, remove and count the oldest events instead of stopping.")
    var dropOldest = false

    @Option(
      help: "Remove segments that were filled longer ago than this, such as 7d, 12h, 30m or 90s.",
      transform: TimeSpan.init(parsing:))
    var retain: TimeSpan?

    @Option(help: "Remove the oldest sealed segments beyond this many bytes, such as 512M.")
    var retainBytes: ByteCount?

    @Option(help: "The number of threads that compress full segments into LZ4 files, at low priority.")
    var batchThreads = 0

    @OptionGroup var provider: ProviderOptions

    @Flag(help: "Remove segments whose events are all delivered.")
    var removeDelivered = false

    @Option(
      help: "The maximum time of delivery after the end of the input, such as 90s. No limit if omitted.",
      transform: TimeSpan.init(parsing:))
    var budget: TimeSpan?

    func validate() throws {
      guard (0...64).contains(batchThreads) else { throw ValidationError("--batch-threads must be 0 to 64") }
      guard budget == nil || !provider.to.isEmpty || provider.planFile != nil else {
        throw ValidationError("--budget needs --to or --plan")
      }
      guard (1...RecordLimits.threads).contains(threads) else {
        throw ValidationError("--threads must be 1 to \(RecordLimits.threads)")
      }
      guard !dropOldest || maxBytes != nil else { throw ValidationError("--drop-oldest needs --max-bytes") }
      guard retainBytes?.bytes != 0 else { throw ValidationError("--retain-bytes must be at least 1") }
      guard ringDirectory != "" else { throw ValidationError("--ring-directory must name a directory") }
      guard repetitions >= 1 else { throw ValidationError("--repeat must be at least 1") }
    }

    func run() throws {
      // The input is opened first, so that a mistyped file name creates no log.
      let input = try InputFile(path: file)
      let source = try ProviderSource(provider)
      let stop = try StopSwitch()
      stop.stopOnSignals()
      let tracker = try open()
      let delivery = try beginDelivery(of: tracker, source)
      let start = MonotonicTime.now.nanoseconds
      let progress = Progress()
      let recorded =
        switch format {
        case .lines: record(PlainLines.self, input, tracker, stop, progress)
        case .clf: record(AccessLog.self, input, tracker, stop, progress)
        case .jsonl: record(JSONLines.self, input, tracker, stop, progress)
        }
      let outcome = try deliver(delivery, stop)
      var closing: ToolError?
      do { try tracker.close() } catch { closing = error.named(RecordOptions.names) }
      progress?.end()
      let counters = tracker.counters
      let summary = RecordSummary(
        tally: recorded.tally, nanoseconds: MonotonicTime.now.nanoseconds - start,
        dropped: counters.dropped.values.reduce(0, +), displaced: counters.displaced, expired: counters.expired,
        bounds: bounds)
      writeDiagnostic(summary.description)
      for complaint in outcome?.complaints ?? [] { writeDiagnostic(complaint) }
      try end(recorded, stop.cause, closing)
      if let code = outcome?.exitCode, code != .success { throw code }
    }

    // MARK: Delivery

    private func beginDelivery(of tracker: Tracker, _ source: ProviderSource) throws -> DeliveryRun? {
      guard removeDelivered || !source.names.isEmpty else { return nil }
      let providers = try source.providers(for: directory)
      return try waitForEnd { try await DeliveryRun(of: tracker, to: providers) }
    }

    /// Delivers the remaining events after the end of the input, and closes the log. Returns `nil` without a
    /// delivery.
    private func deliver(_ delivery: DeliveryRun?, _ stop: StopSwitch) throws -> DeliveryOutcome? {
      guard let delivery else { return nil }
      let deadline = budget.map { ContinuousClock.now + $0.duration }
      let outcome = try waitForEnd { await delivery.end(follows: false, deadline: deadline, stop: stop) }
      for line in outcome.lines { writeDiagnostic(line) }
      return outcome
    }

    private func open() throws(ToolError) -> Tracker {
      do throws(WeirError) {
        return try Tracker(directory: directory, configuration: configuration)
      } catch {
        throw error.named(RecordOptions.names)
      }
    }

    private var bounds: RecordSummary.Bounds {
      RecordSummary.Bounds(
        bytes: maxBytes?.bytes, retainedBytes: retainBytes?.bytes, retainedSeconds: retain?.seconds)
    }

    private var configuration: Tracker.Configuration {
      var configuration = Tracker.Configuration()
      // One lane for each thread, and the lanes that the log keeps for threads without a lane.
      configuration.laneCount = max(configuration.laneCount, threads + configuration.spareLanes)
      configuration.whenFull = .block
      // A thread whose lane is full waits, and so its events stay in one lane, also while the disk stands still.
      configuration.overflowBytes = 0
      configuration.logger = nil
      if let laneBytes { configuration.laneBytes = Int(clamping: laneBytes.bytes) }
      if let segmentBytes { configuration.segmentBytes = Int(clamping: segmentBytes.bytes) }
      configuration.ringDirectory = ringDirectory
      configuration.byteLimit = maxBytes.map { Int(clamping: $0.bytes) }
      configuration.atByteLimit = dropOldest ? .dropOldest : .refuse
      configuration.batchThreads = batchThreads
      configuration.removeDelivered = removeDelivered
      configuration.retention = Tracker.Retention(
        age: retain?.duration, bytes: retainBytes.map { Int(clamping: $0.bytes) })
      return configuration
    }

    private func record<Format: LineFormat>(
      _ format: Format.Type, _ input: InputFile, _ tracker: Tracker, _ stop: StopSwitch, _ progress: Progress?
    ) -> (tally: Tally, inputError: ToolError?) {
      Recorder<Format>(
        input: input, tracker: tracker, threads: threads, repetitions: repetitions, acknowledges: acknowledge,
        stop: stop, progress: progress
      ).run()
    }

    /// Throws the most serious reason for which the command does not succeed, if there is one.
    private func end(
      _ recorded: (tally: Tally, inputError: ToolError?), _ cause: StopCause?, _ closing: ToolError?
    ) throws {
      if let closing { throw closing }
      switch cause {
      case .storage:
        throw ToolError(
          "\(directory) can't grow: the disk is full or failed, or --max-bytes is reached; the recorded events are "
            + "kept, make room and continue",
          code: .diskFull)
      case .refused: throw ExitCode.cannotRun
      case .output:
        throw ToolError(
          "standard output accepts no acknowledgements, so recording stopped; captured events are in \(directory)",
          code: .signal(SIGPIPE))
      case .signal(let number): throw ExitCode.signal(number)
      case nil: break
      }
      if let inputError = recorded.inputError { throw inputError }
      if !recorded.tally.refused.isEmpty { throw ExitCode.eventsRefused }
    }
  }

  /// The names of the options of `weir record` for the library's properties, for error texts.
  enum RecordOptions {
    static let names = [
      "laneBytes": "--lane-bytes", "segmentBytes": "--segment-bytes", "ringDirectory": "--ring-directory",
      "byteLimit": "--max-bytes", "atByteLimit": "--drop-oldest", "retention.age": "--retain",
      "retention.bytes": "--retain-bytes",
    ]
  }
#endif

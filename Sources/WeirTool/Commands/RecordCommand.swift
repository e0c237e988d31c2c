// RecordCommand.swift: `weir record`: captures events from a file or standard input into a log.

#if Tool
  import ArgumentParser
  import Foundation
  import Glibc
  import Weir
  import WeirDelivery

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
        Every line becomes one event. A line is what a newline ends; the last one \
        counts without it, and so do empty ones.

        Formats:
          lines  Event `line`, field `text`: the exact line, a carriage return
                 included. A line that is not UTF-8 is in the field `bytes` instead.
          clf    Apache's combined log. Event `request`, fields host, ident, user,
                 time, method, path, protocol, status, bytes, referrer, agent. Text is
                 kept as the server wrote it, escapes included; "-" is null; `time` is
                 the instant, without its zone.
          jsonl  A JSON object a line, {"event":"name","fields":{…}}, with just these
                 two members: an event of that name, with these fields in their order.
                 Numbers are 64-bit integers where they fit, else doubles.
        With clf and jsonl, a line that is anything else to the letter becomes event \
        `malformed`, with the exact line in `text` (or `bytes`): nothing is left out, \
        nothing guessed.

        With --threads N, line n is recorded by thread (n - 1) mod N, and each thread \
        keeps the order of its lines: in the log they are in that order, and their ids \
        name one lane. With --repeat the numbers go on through the repetitions.

        A full lane makes its thread wait: nothing is dropped. An event over the size \
        limit, 69,632 bytes of encoded fields, is refused, counted in the log, and named \
        on standard error; recording goes on, and the exit code is 4. On a full disk, \
        or at --max-bytes, recording stops, keeps what it has, and exits with 3. What \
        --drop-oldest and --retain remove as they were told to is counted in the last \
        line, and is no error. SIGINT and SIGTERM close \
        the log in order, a second one ends at once. After any other end, kill -9 \
        included, the next opening recovers everything that was captured.

        With --to the events are delivered too, as weir deliver would, from the first \
        one on; at the end of the input recording goes on until all are, or until \
        --budget ends, and the exit code is one of weir deliver's. With \
        --remove-delivered segments go from the log that every provider has had \
        which the log knows, those of a weir deliver beside this one among them.

        Examples:
          weir record events access.log --format clf
          tail -F app.log | weir record events
          weir record events big.log --threads 4 --repeat 10
          producer | weir record events --format jsonl --acknowledge | consumer
          tail -F app.log | weir record events --to out --remove-delivered
        """)

    @Argument(help: "The log's directory. It is made if it is missing.")
    var directory: String

    @Argument(help: "The input. Standard input if it is left out, or is -.")
    var file: String?

    @Option(help: "What a line is: lines, clf or jsonl.")
    var format: InputFormat = .lines

    @Option(help: "How many threads capture: 1 to \(RecordLimits.threads).")
    var threads = 1

    @Option(
      name: .customLong("repeat"),
      help: "How many times the whole input is recorded. It is read once, and kept in memory if this is above 1.")
    var repetitions: UInt64 = 1

    @Flag(
      help: """
        Print each line's number to standard output, one unbuffered write each, after the line has been captured: from \
        then on no kill loses it.
        """)
    var acknowledge = false

    @Option(help: "Size of a thread's lane, a power of two such as 1M. The log's default if it is left out.")
    var laneBytes: ByteCount?

    @Option(help: "Size of a segment file while it is written, such as 8M. The log's default if it is left out.")
    var segmentBytes: ByteCount?

    @Option(
      help: """
        Directory for the ring, on tmpfs such as /dev/shm/events. It lies beside the segments if this is left out.
        """)
    var ringDirectory: String?

    @Option(help: "What all the log's files may take on the disk, such as 1G. No limit if it is left out.")
    var maxBytes: ByteCount?

    @Flag(help: "At --max-bytes remove the oldest events, and count them, instead of stopping.")
    var dropOldest = false

    @Option(
      help: "Remove segments that were filled longer ago, such as 7d, 12h, 30m or 90s.",
      transform: TimeSpan.init(parsing:))
    var retain: TimeSpan?

    @Option(help: "Remove the oldest sealed segments beyond so many bytes, such as 512M.")
    var retainBytes: ByteCount?

    @Option(help: "Threads that turn full segments into LZ4 files, behind everything else. 0: none.")
    var batchThreads = 0

    @OptionGroup var provider: ProviderOptions

    @Flag(help: "Remove segments whose events were all delivered.")
    var removeDelivered = false

    @Option(
      help: "How long delivery may go on after the input's end, such as 90s. Until all is delivered if left out.",
      transform: TimeSpan.init(parsing:))
    var budget: TimeSpan?

    func validate() throws {
      guard (0...64).contains(batchThreads) else { throw ValidationError("--batch-threads must be 0 to 64") }
      guard budget == nil || !provider.to.isEmpty else { throw ValidationError("--budget goes with --to") }
      guard (1...RecordLimits.threads).contains(threads) else {
        throw ValidationError("--threads must be 1 to \(RecordLimits.threads)")
      }
      guard !dropOldest || maxBytes != nil else { throw ValidationError("--drop-oldest goes with --max-bytes") }
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
      guard removeDelivered || !source.addresses.isEmpty else { return nil }
      let providers = try source.providers()
      return try waitForEnd {
        try await DeliveryRun(of: tracker, to: providers, DeliverCommand.options(.beginning))
      }
    }

    /// Delivers the remaining events after the end of the input, and closes the log.
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

    /// How the command ends. The most serious reason comes first.
    private func end(
      _ recorded: (tally: Tally, inputError: ToolError?), _ cause: StopCause?, _ closing: ToolError?
    ) throws {
      if let closing { throw closing }
      switch cause {
      case .storage:
        throw ToolError(
          "\(directory) can't grow: the disk is full or failed, or --max-bytes is reached; what is recorded is kept, "
            + "make room and go on",
          code: .diskFull)
      case .refused: throw ExitCode.cannotRun
      case .output:
        throw ToolError(
          "standard output takes no more acknowledgements: stopped; what was captured is in \(directory), look there",
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

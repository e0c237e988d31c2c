// BatchCommand: `weir batch`: compresses the full segments of a log.

#if Tool
  import ArgumentParser
  import Foundation
  import Synchronization
  import Weir

  struct BatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "batch",
      abstract: "Compress a log's full segments into LZ4 files.",
      discussion: """
        Each full segment becomes a standard LZ4 frame, OFFSET.weir.lz4, of a half to a \
        fifth of the size. The frame has an index, so that an offset is found without \
        unpacking the rest. All commands read batch segments like other segments, and \
        the lz4 tool reads them too. The old file is removed once the new file is on \
        disk. The command may be killed at any moment and run again.

        The log must have no writer. A live writer compresses full segments itself if \
        it is told to (weir record --batch-threads). A segment that a dead writer left \
        open stays as it is, for weir recover. A damaged segment stays as it is too, \
        and the exit code is 1.

        Keys with --json:
          segments, batched, input_bytes, output_bytes, damaged, failed

        Examples:
          weir batch events --threads 4
          lz4 -t events/*.lz4
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Option(help: "The number of threads: 1 to 64.")
    var threads = 1

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
      guard (1...64).contains(threads) else { throw ValidationError("--threads must be 1 to 64") }
    }

    func run() throws {
      let stop = try StopSwitch()
      stop.stopOnSignals()
      let start = MonotonicTime.now.nanoseconds
      let progress = Mutex(BatchProgress())
      defer { progress.withLock { $0.end() } }
      let done = try LogDirectory(directory).batch(threads: threads) { sums in
        progress.withLock { $0.show(sums) }
        return !stop.isThrown
      }
      progress.withLock { $0.end() }
      let report = BatchReport(done)
      try writeReport(json ? try Table.json(report) : report.text(of: directory, MonotonicTime.now.nanoseconds - start))
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      if done.damaged > 0 { throw ExitCode.damaged }
    }
  }

  /// The progress line, with segments instead of events.
  private struct BatchProgress {
    private let progress = Progress()

    func show(_ sums: LogDirectory.Batching) {
      let over = sums.batched + sums.damaged + sums.failed
      progress?.show(
        sums.batched, "segments", fraction: sums.segments == 0 ? nil : Double(over) / Double(sums.segments))
    }

    func end() { progress?.end() }
  }

  /// The keys of `weir batch --json`.
  struct BatchReport: Encodable {
    var segments: UInt64
    var batched: UInt64
    var inputBytes: UInt64
    var outputBytes: UInt64
    var damaged: UInt64
    var failed: UInt64

    init(_ done: LogDirectory.Batching) {
      segments = done.segments
      batched = done.batched
      inputBytes = done.inputBytes
      outputBytes = done.outputBytes
      damaged = done.damaged
      failed = done.failed
    }

    func text(of directory: String, _ nanoseconds: UInt64) -> String {
      let share = inputBytes == 0 ? 0 : Double(outputBytes) / Double(inputBytes) * 100
      return Table.text([
        ("log", directory),
        ("segments to compress", Quantity.count(segments)),
        ("compressed", Quantity.count(batched)),
        ("before", Quantity.bytes(inputBytes)),
        ("after", "\(Quantity.bytes(outputBytes)) (\(Quantity.decimal(share)) %)"),
        ("damaged, unchanged", damaged == 0 ? "0" : "\(Quantity.count(damaged)): see weir verify"),
        ("failed, unchanged", Quantity.count(failed)),
        ("took", Quantity.seconds(nanoseconds)),
      ])
    }
  }
#endif

// DemoCommand: `weir demo`: captures events, kills the capturing process, recovers the log, and compares.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "demo",
      abstract: "Kill a recording and show that nothing is lost, in under a minute.",
      discussion: """
        A second weir process records 10,000 real web requests repeatedly on three \
        threads, and acknowledges each event after its capture. While the process \
        records, it is killed with kill -9. The log is opened again, and every event in \
        the log is compared with the line from which the event was captured. Then the \
        time of an undisturbed capture is measured.

        The log stays in a temporary directory, so that you can examine it. The last \
        line is the command that removes the directory.

        Examples:
          weir demo
          weir demo --keep /tmp/my-demo
          weir demo --remove
        """)

    @Option(
      help: "Keep the log in this directory, which must not exist yet, instead of a temporary directory.",
      completion: .directory)
    var keep: String?

    @Flag(help: "Remove the log at the end.")
    var remove = false

    @Option(help: "The number of threads that compress full segments during the recording.")
    var batchThreads = 0

    @Option(help: ArgumentHelp("The number of acknowledgements before the kill.", visibility: .hidden))
    var killAfter = 300_000

    private static let threads = 3

    func validate() throws {
      if keep != nil, remove { throw ValidationError("--keep and --remove exclude each other") }
      guard (0...64).contains(batchThreads) else { throw ValidationError("--batch-threads must be 0 to 64") }
      guard killAfter >= 1 else { throw ValidationError("--kill-after must be at least 1") }
    }

    func run() throws {
      let stop = try StopSwitch()
      stop.stopOnSignals()
      let executable = try Sample.executable()
      let sample = try Sample.path(besideExecutable: executable)
      let folder = try makeFolder()
      do {
        try run(in: folder, executable, sample, stop)
      } catch {
        // A failed demo keeps its log only if asked to.
        if keep == nil { try? FileManager.default.removeItem(atPath: folder) }
        throw error
      }
      if remove { try? FileManager.default.removeItem(atPath: folder) }
    }

    private func makeFolder() throws -> String {
      if let keep {
        guard mkdir(keep, 0o700) == 0 else {
          throw ToolError("\(keep) can't be created: \(systemMessage(errno)); give a path that does not exist yet")
        }
        return keep
      }
      let pattern = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
      var template = Array("\(pattern)/weir-demo-XXXXXX".utf8CString)
      guard mkdtemp(&template) != nil else {
        throw ToolError("can't create a directory in \(pattern): \(systemMessage(errno)); set TMPDIR, or use --keep")
      }
      return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func run(in folder: String, _ executable: String, _ sample: String, _ stop: StopSwitch) throws {
      let log = "\(folder)/events"
      try writeOutput("1. A second process records real web requests on \(Self.threads) threads, at full speed.\n")
      let acknowledged = try recordAndKill(log, folder, executable, sample, stop)
      try leave(stop)
      try recover(log)
      try leave(stop)
      let isWhole = try compare(log, sample, acknowledged)
      try leave(stop)
      try measure("\(folder)/measured", sample, stop)
      try leave(stop)
      if !isWhole {
        throw ToolError("the log in \(log) differs from the input; please report this, with the log", code: .damaged)
      }
      if !remove { try showCommands(executable, log, folder) }
    }

    private func leave(_ stop: StopSwitch) throws {
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
    }

    /// Records in a child process, and kills the child. Returns the line numbers that the child acknowledged.
    private func recordAndKill(
      _ log: String, _ folder: String, _ executable: String, _ sample: String, _ stop: StopSwitch
    ) throws -> [UInt64] {
      let errorFile = "\(folder)/errors.txt"
      let arguments = [
        "record", log, sample, "--format", "clf", "--threads", String(Self.threads), "--repeat", "100000",
        "--acknowledge", "--batch-threads", String(batchThreads),
      ]
      let start = MonotonicTime.now.nanoseconds
      let child = try ChildProcess(executable, arguments, errorsTo: errorFile)
      defer { close(child.output) }
      var acknowledgements = Acknowledgements()
      acknowledgements.read(from: child.output, until: killAfter, unless: stop)
      child.kill()
      let nanoseconds = MonotonicTime.now.nanoseconds - start
      // Acknowledgements between the count and the child's death are still in the pipe, and count too.
      acknowledgements.read(from: child.output, until: .max, unless: stop)
      let signal = child.waitForEnd()
      guard signal == SIGKILL || stop.isThrown else {
        let words = FileManager.default.contents(atPath: errorFile) ?? Data()
        let problem = String(decoding: words, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        throw ToolError("the recording process ended before it could be killed: \(problem)")
      }
      unlink(errorFile)
      try writeOutput(
        """
             It acknowledged \(Quantity.count(UInt64(acknowledgements.numbers.count))) events in \
        \(Quantity.seconds(nanoseconds)), each with one write to a pipe. Then it was killed with kill -9.


        """)
      return acknowledgements.numbers
    }

    private func recover(_ log: String) throws {
      let start = MonotonicTime.now.nanoseconds
      var configuration = Tracker.Configuration()
      configuration.logger = nil
      let tracker = try Tracker(directory: log, configuration: configuration)
      let nanoseconds = MonotonicTime.now.nanoseconds - start
      let report = tracker.recovery
      try tracker.close()
      let recovered = report.eventsInSegments + report.eventsFromLanes
      let sealed = report.firstOffset - min(recovered, report.firstOffset)
      try writeOutput(
        """
        2. The log is opened again, in \(Quantity.seconds(nanoseconds)).
             In sealed segments:        \(Quantity.count(sealed)) events, not touched
             In unsealed segments:      \(Quantity.count(report.eventsInSegments)) events, checked
             Still in the lanes:        \(Quantity.count(report.eventsFromLanes)) events, moved into a segment
             Half written:              \(Quantity.count(report.tornBytes)) bytes, cut
             Damaged:                   \(Quantity.count(report.damagedBlocks + report.damagedRecords)) places


        """)
    }

    /// Prints the comparison. Returns whether every acknowledged event is in the log, once, and equal to its line.
    private func compare(_ log: String, _ sample: String, _ acknowledged: [UInt64]) throws -> Bool {
      var comparison = Comparison(lines: try Sample.events(at: sample), threads: Self.threads)
      let reader = try EventReader(directory: log)
      while let stored = try reader.next() {
        guard let event = try AccessEvent(stored) else { continue }
        comparison.take(event, lane: stored.id.sequence >> 48)
      }
      let lost = comparison.lost(of: acknowledged)
      let extra = comparison.found - min(comparison.found, UInt64(acknowledged.count))
      let remark = extra == 0 ? "" : " (\(extra) were captured, but not yet acknowledged)"
      let isWhole = lost == 0 && comparison.different == 0 && reader.skippedCount == 0
      try writeOutput(
        """
        3. Every event in the log is compared with its line of the input.
             Acknowledged:              \(Quantity.count(UInt64(acknowledged.count)))
             Found:                     \(Quantity.count(comparison.found))\(remark)
             Lost:                      \(lost)
             Twice, or different:       \(comparison.different)


        """)
      return isWhole
    }

    /// Prints the time of an undisturbed capture: without acknowledgements, on one thread.
    private func measure(_ log: String, _ sample: String, _ stop: StopSwitch) throws {
      defer { try? FileManager.default.removeItem(atPath: log) }
      var configuration = Tracker.Configuration()
      configuration.whenFull = .block
      configuration.logger = nil
      let tracker = try Tracker(directory: log, configuration: configuration)
      let start = MonotonicTime.now.nanoseconds
      let recorder = Recorder<AccessLog>(
        input: try InputFile(path: sample), tracker: tracker, threads: 1, repetitions: 30, acknowledges: false,
        stop: stop, progress: nil)
      let tally = recorder.run().tally
      try tracker.close()
      let summary = RecordSummary(tally: tally, nanoseconds: MonotonicTime.now.nanoseconds - start, dropped: 0)
      try writeOutput(
        """
        4. The input is recorded again on one thread, without a kill: \(Quantity.count(tally.accepted)) events.
             A capture took             \(Quantity.decimal(summary.nanosecondsPerEvent)) ns on average, for 11 fields \
        of a request


        """)
    }

    private func showCommands(_ executable: String, _ log: String, _ folder: String) throws {
      let weir = Self.quoted(Self.shortened(executable))
      let log = Self.quoted(log)
      try writeOutput(
        """
        To examine the log:
          \(weir) cat \(log) --limit 3
          \(weir) cat \(log) --format text --from 100000 | head
          \(weir) verify \(log)
          \(weir) stat \(log)
        To remove the log:
          rm -r \(Self.quoted(folder))

        """)
    }

    /// Returns the path relative to the current directory, if the file is in the current directory.
    private static func shortened(_ path: String) -> String {
      let here = FileManager.default.currentDirectoryPath + "/"
      return path.hasPrefix(here) ? String(path.dropFirst(here.count)) : path
    }

    /// Returns the text, quoted for a shell if necessary.
    static func quoted(_ word: String) -> String {
      let isPlain = word.utf8.allSatisfy { byte in
        byte > 0x7F || "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+".utf8.contains(byte)
      }
      if isPlain, !word.isEmpty { return word }
      return "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
  }
#endif

// Recorder: records the input in the log. One thread reads the input and splits it into lines. N threads parse
// and capture the lines. With N = 1 the reading thread captures too, so that each line of a slow stream is recorded at
// once.

#if Tool
  import Foundation
  import Synchronization
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// Limits of `weir record`.
  enum RecordLimits {
    /// The maximum size of an event's encoded fields: the log's default. The help text contains the number.
    static let eventBytes = Tracker.Configuration().maximumEventBytes
    static let threads = 250
    /// The maximum number of chunks, of up to 256 KiB each, that wait for one thread.
    static let waitingChunks = 4
  }

  struct Recorder<Format: LineFormat> {
    let input: InputFile
    let tracker: Tracker
    let threads: Int
    let repetitions: UInt64
    let acknowledges: Bool
    let stop: StopSwitch
    let progress: Progress?

    /// Records the whole input, or the part that is read before the switch is thrown. If the input can't be read to its
    /// end, the part that was read is recorded.
    func run() -> (tally: Tally, inputError: ToolError?) {
      let count = ProgressCount()
      let workers = (0..<threads).map { index in
        RecordingThread<Format>(
          index: UInt64(index), threads: UInt64(threads), tracker: tracker, acknowledges: acknowledges, stop: stop,
          progressCount: count)
      }
      return threads == 1 ? runAlone(workers[0], count) : runTogether(workers, count)
    }

    private func runAlone(
      _ worker: RecordingThread<Format>, _ count: ProgressCount
    ) -> (tally: Tally, inputError: ToolError?) {
      var worker = worker
      let inputError = eachChunk(count) { worker.record($0) }
      return (worker.tally, inputError)
    }

    private func runTogether(
      _ workers: [RecordingThread<Format>], _ count: ProgressCount
    ) -> (tally: Tally, inputError: ToolError?) {
      let mailboxes = workers.map { _ in Mailbox<NumberedChunk?>(capacity: RecordLimits.waitingChunks) }
      let total = Mutex(Tally())
      let done = DispatchGroup()
      for (worker, mailbox) in zip(workers, mailboxes) {
        done.enter()
        Thread.detachNewThread {
          var worker = worker
          while let chunk = mailbox.take() { worker.record(chunk) }
          total.withLock { $0.add(worker.tally) }
          done.leave()
          // A thread that ends frees its lane. The thread first waits for the others, so that no two threads share a
          // lane.
          done.wait()
        }
      }
      let inputError = eachChunk(count) { chunk in
        for mailbox in mailboxes { mailbox.put(chunk) }
      }
      for mailbox in mailboxes { mailbox.put(nil) }
      done.wait()
      return (total.withLock { $0 }, inputError)
    }

    /// Reads the input once, and passes its lines to `body` as often as they are to be recorded. The input is kept in
    /// memory only if it is repeated.
    private func eachChunk(_ count: ProgressCount, _ body: (NumberedChunk) -> Void) -> ToolError? {
      var splitter = LineSplitter()
      var kept: [LineChunk] = []
      var number: UInt64 = 1
      func hand(_ chunk: LineChunk) {
        body(NumberedChunk(chunk: chunk, firstNumber: number))
        number += UInt64(chunk.lines.count)
        if repetitions > 1 { kept.append(chunk) }
      }
      do throws(ToolError) {
        while let bytes = try input.read(unless: stop) {
          if let chunk = splitter.split(bytes) { hand(chunk) }
          show(count, round: 0)
        }
      } catch {
        return error
      }
      // An unfinished line is a line only if this is the end of the input.
      if !stop.isThrown, let chunk = splitter.finish() { hand(chunk) }
      guard repetitions > 1, !kept.isEmpty else { return nil }
      for round in 1..<repetitions {
        for chunk in kept where !stop.isThrown {
          body(NumberedChunk(chunk: chunk, firstNumber: number))
          number += UInt64(chunk.lines.count)
          show(count, round: round)
        }
        if stop.isThrown { break }
      }
      return nil
    }

    private func show(_ count: ProgressCount, round: UInt64) {
      guard let progress else { return }
      var fraction: Double?
      if repetitions > 1 {
        fraction = Double(round) / Double(repetitions)
      } else if let expected = input.expectedBytes, expected > 0 {
        fraction = min(Double(input.bytesRead) / Double(expected), 1)
      }
      progress.show(events: count.value, fraction: fraction)
    }
  }
#endif

// RecordingThread: parses and captures the lines of one thread: the lines whose number n has (n - 1) mod threads
// equal to the thread's index, in order. The events of each thread are therefore known in advance, and are in the log
// in the order of the input.

#if Tool
  import Synchronization
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// Lines with their numbers, the same for all threads.
  struct NumberedChunk: Sendable {
    let chunk: LineChunk
    /// The number of the first line in the chunk: 1 for the first line of the input, continued through all repetitions.
    let firstNumber: UInt64
  }

  struct RecordingThread<Format: LineFormat>: Sendable {
    /// The number of captures between two readings of the clock: large enough that the readings cost nothing
    /// noticeable, small enough that the events stay in the cache.
    private static var batchSize: Int { 256 }
    /// The number of refused lines that each thread reports one by one. Further refused lines are only counted.
    private static var reportLimit: UInt64 { 20 }

    let index: UInt64
    let threads: UInt64
    let tracker: Tracker
    let acknowledges: Bool
    let stop: StopSwitch
    /// Events accepted by all threads, for the progress line.
    let progressCount: ProgressCount
    private(set) var tally = Tally()
    private var parsed: [Format.Parsed] = []
    private var refusals: UInt64 = 0

    init(
      index: UInt64, threads: UInt64, tracker: Tracker, acknowledges: Bool, stop: StopSwitch,
      progressCount: ProgressCount
    ) {
      self.index = index
      self.threads = threads
      self.tracker = tracker
      self.acknowledges = acknowledges
      self.stop = stop
      self.progressCount = progressCount
    }

    /// Records this thread's lines of the chunk, until the switch is thrown.
    mutating func record(_ numbered: NumberedChunk) {
      let lines = numbered.chunk.lines
      let bytes = numbered.chunk.bytes.span
      // An acknowledgement follows its own capture, before the next one begins.
      let batchSize = acknowledges ? 1 : Self.batchSize
      var next = Int((index + threads - (numbered.firstNumber - 1) % threads) % threads)
      while next < lines.count, !stop.isThrown {
        let first = next
        parsed.removeAll(keepingCapacity: true)
        while next < lines.count, parsed.count < batchSize {
          parsed.append(Format.parse(bytes.extracting(lines[next])))
          next += Int(threads)
        }
        capture(firstNumber: numbered.firstNumber + UInt64(first))
      }
    }

    /// Captures the parsed lines. The lines' numbers are `threads` apart.
    private mutating func capture(firstNumber: UInt64) {
      var accepted: UInt64 = 0
      // Events are borrowed, so that a capture neither copies an event nor retains its strings.
      let events = parsed
      let span = events.span
      let start = MonotonicTime.now.nanoseconds
      for position in span.indices {
        if stop.isThrown { break }
        switch Format.capture(span[position], with: tracker) {
        case .accepted: accepted += 1
        case .dropped(let reason): refuse(reason, number: firstNumber + UInt64(position) * threads)
        }
      }
      tally.captureNanoseconds += MonotonicTime.now.nanoseconds - start
      tally.accepted += accepted
      progressCount.add(accepted)
      if acknowledges, accepted == 1 { acknowledge(firstNumber) }
    }

    private mutating func refuse(_ reason: DropReason, number: UInt64) {
      tally.refused[reason, default: 0] += 1
      switch reason {
      case .storage:
        stop.stop(.storage)
        return
      case .closed, .detached, .noLane:
        stop.stop(.refused)
      case .full, .tooLarge, .invalid, .overwritten, .expired, .displaced, .sampled:
        break
      }
      refusals += 1
      if refusals <= Self.reportLimit {
        writeDiagnostic("line \(number) is not recorded: \(Self.explain(reason))")
      } else if refusals == Self.reportLimit + 1 {
        writeDiagnostic("further refused lines are only counted")
      }
    }

    private static func explain(_ reason: DropReason) -> String {
      switch reason {
      case .tooLarge: "its event is over the size limit (\(RecordLimits.eventBytes) bytes of fields); split the line"
      case .invalid: "its names or its nesting exceed the limits of the log; simplify the line"
      case .full: "its lane stayed full; use larger lanes (--lane-bytes)"
      case .noLane: "every lane is in use; use fewer threads (--threads)"
      case .closed, .detached, .storage, .overwritten, .expired, .displaced, .sampled:
        "the log accepts no more events (\(reason.name)); run the command again"
      }
    }

    /// Acknowledges a line. Writes the number in one write, so that the number has left this process before the next
    /// line is captured, and is not mixed with the numbers of other threads.
    private func acknowledge(_ number: UInt64) {
      do {
        try writeAll(Array("\(number)\n".utf8), to: STDOUT_FILENO)
      } catch {
        stop.stop(.output)
      }
    }
  }

  /// A count to which all threads add, once for each batch of captures.
  final class ProgressCount: Sendable {
    private let count = Atomic<UInt64>(0)
    func add(_ events: UInt64) { count.add(events, ordering: .relaxed) }
    var value: UInt64 { count.load(ordering: .relaxed) }
  }
#endif

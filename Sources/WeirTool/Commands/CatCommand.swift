// CatCommand: `weir cat`: prints the events of a log.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirJSON

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct CatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "cat",
      abstract: "Print the events of a log.",
      usage: """
        weir cat <directory> [--format <format>] [--from <from>]
                        [--limit <limit>] [--follow] [--context]
                        [--show-sensitive]
        """,
      discussion: """
        Changes nothing. From a live log, the command prints the events that are \
        drained; by default an event is drained within 20 ms. From a log whose writer \
        has died, the command also prints the events still in the lanes, with the \
        offsets that recovery will assign.

        Formats:
          jsonl  One object per line, with exactly the keys offset, id (32 hex digits),
                 time (RFC 3339, UTC, nanoseconds), event and fields, in this order.
                 In the fields, integers have all their digits, bytes are base64, dates
                 are RFC 3339 in UTC (outside the years 0 to 9999: seconds since 2001),
                 and numbers that JSON lacks are "NaN", "Infinity" and "-Infinity".
          csv    offset,id,time,event,fields, with a header row. The fields are JSON.
                 An event name with control characters is JSON too.
          text   For people: offset, time, event, and name=value for each field.
        With --context, further keys or columns follow: host (of the capture, in the log \
        of a collector), uuid, kind (page_view, page_action, system_action or null), \
        monotonic (nanoseconds since some moment of the boot of the machine), boot (the \
        id of the boot), user (id and traits), view (id, name and parent), and context \
        (global fields, and fields bound around the capture). The text format has host, \
        user, view and these fields after a bar.

        The values of sensitive fields are printed as "[redacted]", in the context too. \
        With --show-sensitive, the values are printed as they are.

        Events whose names start with "weir." are the log's own: weir.gap (captures \
        that were refused), weir.hole (offsets that no event has), weir.associated (the \
        process has a new default user) and weir.disassociated (the process no longer \
        has a default user).

        Damage is skipped: each damaged place is a line on standard error, all events \
        outside it are printed, and the exit code is 1. Events that retention or the \
        byte limit removed are reported on such a line too, but are not damage.

        With --follow, the command prints new events as they arrive, also after the \
        writer has died and a new writer has started, until SIGINT or SIGTERM. If the \
        directory is removed, the command ends with an error, exit code 2.

        Examples:
          weir cat events --limit 10
          weir cat events --from 5000 --format text
          weir cat events --follow | grep '"event":"malformed"'
          weir cat events --context | jq -c 'select(.user.id == "u7")'
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Option(help: "The output format: jsonl, csv or text.")
    var format: EventFormat = .jsonl

    @Option(help: "The first offset to print.")
    var from: Offset = 0

    @Option(help: "The maximum number of events to print. All if omitted.")
    var limit: UInt64?

    @Flag(help: "Print new events as they arrive.")
    var follow = false

    @Flag(help: "Also print each event's context and further ids.")
    var context = false

    @Flag(help: "Print sensitive values as they are.")
    var showSensitive = false

    /// The number of bytes of text that are written together.
    private static let bufferBytes = 64 << 10
    /// The number of events that are read together.
    private static let blockEvents: UInt64 = 256

    func run() throws {
      let stop = try StopSwitch()
      if follow { stop.stopOnSignals() }
      let reader = try EventReader(directory: directory, from: from)
      var isDamaged = false
      let directory = directory
      reader.onSkip = { skip in
        if !skip.isRemoval { isDamaged = true }
        writeDiagnostic("\(directory): \(Damage.describe(skip))")
      }
      var left = limit ?? .max
      var buffer = Array(format.header(withContext: context).utf8)
      // Other formats need the decoded event.
      let lines =
        format == .jsonl && !context ? EncodedJSON(JSONForm(), .listing) { $1.append(UInt8(ascii: "}")) } : nil
      // Read once: an option is kept with all that was parsed, and each read copies all of that.
      let showSensitive = showSensitive
      while left > 0, !stop.isThrown {
        if let block = try reader.nextBlock(most: Int(min(left, Self.blockEvents)), bytes: Self.bufferBytes) {
          for index in 0..<block.count {
            let event = block[index]
            if let lines, showSensitive || event.isPlain, lines.append(event, to: &buffer) {
              buffer.append(UInt8(ascii: "\n"))
            } else {
              append(event.stored, to: &buffer)
            }
            if buffer.count >= Self.bufferBytes { try write(&buffer) }
          }
          left -= UInt64(block.count)
          continue
        }
        try write(&buffer)
        guard follow else { break }
        repeat { stop.sleepWhileRead(until: reader.nextLook()) } while !stop.isThrown && !reader.wait(upTo: .zero)
      }
      try write(&buffer)
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      if isDamaged { throw ExitCode.damaged }
    }

    private func append(_ event: StoredEvent, to buffer: inout [UInt8]) {
      format.append(showSensitive ? event : event.redacted(), withContext: context, to: &buffer)
    }

    private func write(_ buffer: inout [UInt8]) throws {
      do { try writeAll(buffer, to: STDOUT_FILENO) } catch { throw ToolError(writing: error) }
      buffer.removeAll(keepingCapacity: true)
    }
  }
#endif

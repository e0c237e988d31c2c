// CatCommand.swift: `weir cat`: prints the events of a log.

#if Tool
  import ArgumentParser
  import Foundation
  import Glibc
  import Weir

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
        Changes nothing. Of a live log it prints the events that are drained, which they \
        are after some milliseconds; of a log whose writer has died also those still in \
        the lanes, with the offsets that recovery will give them.

        Formats:
          jsonl  An object a line, with exactly the keys offset, id (32 hex digits),
                 time (RFC 3339, UTC, nanoseconds), event and fields, in this order.
                 In the fields: integers have all their digits, bytes are base64,
                 dates RFC 3339 in UTC (outside the years 0 to 9999: seconds since
                 2001), and there are "NaN", "Infinity" and "-Infinity".
          csv    offset,id,time,event,fields with a header row; fields as JSON, and so
                 an event name with control characters.
          text   For people: offset, time, event, and name=value for each field.
        With --context there are more keys or columns after those: uuid, kind (page_view, \
        page_action, system_action or null), monotonic (nanoseconds since some moment of \
        the boot of the machine), boot (its id), user (id and traits), view (id, name and \
        parent), and context (global fields, and those bound around the capture). Text \
        gets user, view and these fields, after a bar.

        The values of sensitive fields are printed as "[redacted]", in the context too; \
        --show-sensitive prints them as they are.

        Events whose name starts with "weir." are the log's own: weir.gap (captures \
        that were refused), weir.hole (offsets that no event has), weir.associated and \
        weir.disassociated (the process has another default user, or none any more).

        Damage is passed over: each stretch is a line on standard error, all events \
        outside it are printed, and the exit code is 1. What retention or the byte limit \
        removed is such a line too, but no damage. With --follow it goes on as \
        events come, through the death of the writer and a new one, until SIGINT or \
        SIGTERM. It ends with an error, exit code 2, when the directory is removed.

        Examples:
          weir cat events --limit 10
          weir cat events --from 5000 --format text
          weir cat events --follow | grep '"event":"malformed"'
          weir cat events --context | jq -c 'select(.user.id == "u7")'
        """)

    @Argument(help: "The log's directory.")
    var directory: String

    @Option(help: "How an event is printed: jsonl, csv or text.")
    var format: EventFormat = .jsonl

    @Option(help: "The first offset to print.")
    var from: Offset = 0

    @Option(help: "How many events to print at most. All if it is left out.")
    var limit: UInt64?

    @Flag(help: "Go on and print events as they come.")
    var follow = false

    @Flag(help: "Print also what each event was captured for.")
    var context = false

    @Flag(help: "Print sensitive values as they are.")
    var showSensitive = false

    /// The number of bytes of text that are written together. Formatting events on several threads was no faster,
    /// because formatting takes a third of the time of reading and decoding.
    private static let bufferBytes = 64 << 10
    /// How long the command waits for events before it checks the stop switch.
    private static let waitAtMost = Duration.milliseconds(20)

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
      while left > 0, !stop.isThrown {
        let event = try reader.next()
        if let event {
          format.append(showSensitive ? event : event.redacted(), withContext: context, to: &buffer)
          left -= 1
        }
        if event == nil || buffer.count >= Self.bufferBytes { try write(&buffer) }
        if event == nil {
          guard follow else { break }
          repeat { stop.sleepWhileRead(milliseconds: 0) } while !stop.isThrown && !reader.wait(upTo: Self.waitAtMost)
        }
      }
      try write(&buffer)
      if case .signal(let number) = stop.cause { throw ExitCode.signal(number) }
      if isDamaged { throw ExitCode.damaged }
    }

    private func write(_ buffer: inout [UInt8]) throws {
      do { try writeAll(buffer, to: STDOUT_FILENO) } catch { throw ToolError(writing: error) }
      buffer.removeAll(keepingCapacity: true)
    }
  }
#endif

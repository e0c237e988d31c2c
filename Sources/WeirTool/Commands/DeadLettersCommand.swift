// DeadLettersCommand: `weir dead-letters`: prints the events that providers rejected, with the reasons.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirDelivery
  import WeirJSON

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "dead-letters",
      abstract: "Print the events that providers rejected, with the reasons.",
      usage: """
        weir dead-letters <directory> [<name>] [--format <format>]
                                 [--limit <limit>] [--all]
        """,
      discussion: """
        Changes nothing. Dead letters stay in the log's directory under \
        dead-letters/NAME, also after weir redrive has delivered them again. Dead \
        letters that the provider accepted then are printed only with --all. Weir never \
        removes dead letters by itself. Damage is skipped: a line on standard error, \
        exit code 1.

        Formats:
          text   For people: provider, attempts and reason, then the event.
          jsonl  One object per line: provider, reason, attempts, event (an object with
                 offset, id, time, event and fields, as weir cat prints it).
        The values of sensitive fields are "[redacted]": a dead letter has no values \
        that the provider was not given.

        Examples:
          weir dead-letters events
          weir dead-letters events shop --format jsonl | jq -r .reason | sort | uniq -c
        """)

    enum Format: String, CaseIterable, ExpressibleByArgument {
      case text, jsonl
    }

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Argument(help: "The provider's name, as weir stat shows it. All providers if omitted.")
    var name: String?

    @Option(help: "The output format: text or jsonl.")
    var format: Format = .text

    @Option(help: "The maximum number of dead letters to print. All if omitted.")
    var limit: UInt64?

    @Flag(help: "Also print dead letters that the provider accepted in a redrive.")
    var all = false

    private static let folder = "dead-letters"

    func run() throws {
      guard try LogFamily.isLog(directory) else { throw ToolError("\(directory) holds no log; name a log's directory") }
      var left = limit ?? .max
      var isDamaged = false
      for name in try names() where left > 0 {
        isDamaged = try print(name, &left) || isDamaged
      }
      if isDamaged { throw ExitCode.damaged }
    }

    private func names() throws -> [String] {
      let folder = "\(directory)/\(Self.folder)"
      let found = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
      guard let name else { return found }
      guard found.contains(name) else {
        let known = try LogDirectory(directory).ledger()[name] != nil
        guard known else {
          throw ToolError("\(directory) has no provider \(Terminal.quoted(name)); see weir stat \(directory)")
        }
        return []
      }
      return [name]
    }

    /// Prints the dead letters of one provider. Returns whether some dead letters can't be read.
    private func print(_ name: String, _ left: inout UInt64) throws -> Bool {
      let path = "\(directory)/\(Self.folder)/\(name)"
      let reader = try EventReader(directory: path)
      var isDamaged = false
      reader.onSkip = { skip in
        if !skip.isRemoval { isDamaged = true }
        writeDiagnostic("\(path): \(Damage.describe(skip))")
      }
      var joiner = DeadLetterJoiner()
      let accepted = all ? nil : AcceptedLetters(of: name, in: directory)
      while left > 0, let stored = try reader.next() {
        guard let letter = joiner.take(stored), accepted?.contains(stored.offset) != true else { continue }
        var bytes: [UInt8] = []
        append(letter, to: &bytes)
        do { try writeAll(bytes, to: STDOUT_FILENO) } catch { throw ToolError(writing: error) }
        left -= 1
      }
      return isDamaged
    }

    func append(_ letter: DeadLetter, to bytes: inout [UInt8]) {
      let event = letter.event.redacted()
      switch format {
      case .jsonl:
        JSONText.append(literal: "{\"provider\":", to: &bytes)
        JSONText.append(letter.provider, to: &bytes)
        JSONText.append(literal: ",\"reason\":", to: &bytes)
        JSONText.append(letter.reason, to: &bytes)
        JSONText.append(literal: ",\"attempts\":", to: &bytes)
        JSONText.append(.int(Int64(letter.attempts)), to: &bytes)
        JSONText.append(literal: ",\"event\":", to: &bytes)
        EventFormat.jsonl.append(event, withContext: false, to: &bytes)
        // The event's newline moves to the end of the surrounding object.
        bytes.removeLast()
        JSONText.append(literal: "}\n", to: &bytes)
      case .text:
        let attempts = letter.attempts == 1 ? "1 attempt" : "\(letter.attempts) attempts"
        JSONText.append(raw: Terminal.name(letter.provider), to: &bytes)
        JSONText.append(raw: ", \(attempts): \(Terminal.printable(letter.reason))\n  ", to: &bytes)
        EventFormat.text.append(event, withContext: false, to: &bytes)
      }
    }
  }
#endif

// SchemaCommand: `weir schema`: prints the event types of a log, and compares the event types of two logs.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirContracts

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "schema",
      abstract: "Print the event types of a log, or the differences between two logs.",
      usage: """
        weir schema <directory> [--format <format>]
        weir schema diff <old> <new> [--format <format>]
        """,
      discussion: """
        A log describes its own events: names, fields, wire ids, former names, and \
        which fields are sensitive. Events captured without a declaration are described \
        by their fields as seen in the log. Reads the whole log and changes nothing. \
        Damage is skipped: each damaged place is a line on standard error, and the exit \
        code of weir schema is 1.

        See also: weir help schema print, weir help schema diff. A log in a directory \
        named diff, print or help is given with a path, such as ./diff.

        Examples:
          weir schema events
          weir schema events --format json > released.json
          weir schema diff released.json events
        """,
      subcommands: [SchemaPrintCommand.self, SchemaDiffCommand.self],
      defaultSubcommand: SchemaPrintCommand.self)
  }

  /// The output format of a schema and of differences.
  enum SchemaFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
    case text
    case json
  }

  struct SchemaPrintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "print",
      abstract: "Print the event types of a log.",
      usage: "weir schema [print] <directory> [--format <format>]",
      discussion: """
        Keys with --format json:
          events     an object for each form of an event, in the order of appearance:
                     event, wire_id, kind, formerly, inferred (without a declaration,
                     as seen in the log), partial (there are more fields than are
                     listed), fields, count, first_offset, last_offset
          fields     name, kind (such as uint64, [double], object), optional,
                     sensitive, formerly, and for objects their fields
          others     the number of events of further forms; 4,096 forms are listed
          undefined  the number of events whose definitions are lost to damage
        """)

    @Argument(help: "The log's directory.", completion: .directory)
    var directory: String

    @Option(help: "The output format: text or json.")
    var format: SchemaFormat = .text

    func run() throws {
      let (schema, isDamaged) = try SchemaSource.log(directory)
      try writeOutput(format == .json ? try Table.json(schema) : SchemaText.of(schema))
      if isDamaged { throw ExitCode.damaged }
    }
  }

  struct SchemaDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Print the differences between the event types of two logs.",
      usage: "weir schema diff <old> <new> [--format <format>]",
      discussion: """
        Each argument is a log's directory, or a file with the output of weir schema \
        --format json. Prints a line for each difference: whether it is breaking, the \
        event, the field, the change, and what the change means for readers. A change \
        is breaking if a program of the new version can't read some events of the old \
        log, or if a program of the old version can't read some events of the new log. \
        A field that is no longer sensitive is breaking too. An event that does not \
        occur in a log counts as absent.

        Exit codes: 0 no breaking change; 1 breaking changes; 2 can't run. Damage in a \
        log is a line on standard error, and does not change the exit code.

        Keys with --format json:
          breaking  the number of breaking changes
          changes   an array of objects with the keys what, event, field, breaking,
                    breaks (of new_readers, old_readers, privacy) and why

        Examples:
          weir schema diff released.json events
          weir schema diff old-events new-events --format json | jq .breaking
        """)

    @Argument(help: "The old log's directory, or a file with its schema.", completion: .file())
    var old: String

    @Argument(help: "The new log's directory, or a file with its schema.", completion: .file())
    var new: String

    @Option(help: "The output format: text or json.")
    var format: SchemaFormat = .text

    func run() throws {
      let changes = try SchemaSource.schema(old).changes(to: SchemaSource.schema(new))
      let report = DiffReport(changes)
      try writeOutput(format == .json ? try Table.json(report) : report.text)
      if report.breaking > 0 { throw ExitCode.breaking }
    }
  }

  /// Reads schemas from logs and files.
  enum SchemaSource {
    /// Returns the schema of a log, and whether a part of the log could not be read.
    static func log(_ directory: String) throws -> (Schema, isDamaged: Bool) {
      var isDamaged = false
      let schema = try Schema(of: LogDirectory(directory)) { skip in
        if !skip.isRemoval { isDamaged = true }
        writeDiagnostic("\(directory): \(Damage.describe(skip))")
      }
      return (schema, isDamaged)
    }

    /// Returns the schema of a log, or the schema in a file if the path is a file.
    static func schema(_ path: String) throws -> Schema {
      var isDirectory: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue else {
        return try log(path).0
      }
      // Also reads pipes, which Data(contentsOf:) refuses: weir schema diff <(…) events.
      guard let file = FileHandle(forReadingAtPath: path), let bytes = try? file.readToEnd() ?? Data() else {
        throw ToolError("\(path) can't be read: \(systemMessage(errno)); check its permissions")
      }
      do {
        return try JSONDecoder().decode(Schema.self, from: bytes)
      } catch {
        throw ToolError("\(path) is no schema: \(describe(error)); write one with weir schema DIR --format json")
      }
    }

    /// Returns the error in a phrase, with its place in the file.
    private static func describe(_ error: any Error) -> String {
      guard let error = error as? DecodingError else { return "\(error)" }
      let context: DecodingError.Context
      switch error {
      case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found): context = found
      case .keyNotFound(let key, let found):
        context = DecodingError.Context(
          codingPath: found.codingPath, debugDescription: "the key \(key.stringValue) is missing")
      @unknown default: return "\(error)"
      }
      let place = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
      let text = context.debugDescription
      let phrase = text.hasSuffix(".") ? String(text.dropLast()) : text
      return place.isEmpty ? phrase : "\(phrase), at \(place)"
    }
  }
#endif

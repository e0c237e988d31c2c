// SchemaCommand.swift: `weir schema`: prints the event types of a log, and compares the event types of two logs.

#if Tool
  import ArgumentParser
  import Foundation
  import Glibc
  import Weir
  import WeirContracts

  struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "schema",
      abstract: "Print the types of events in a log, or what differs between two.",
      usage: """
        weir schema <directory> [--format <format>]
        weir schema diff <old> <new> [--format <format>]
        """,
      discussion: """
        A log describes its own events: names, fields, wire ids, former names, what is \
        sensitive. Events captured without a declaration are shown as they were seen. \
        Reads the whole log and changes nothing. Damage is passed over, each stretch a \
        line on standard error; the exit code of weir schema is 1 then.

        See also: weir help schema print, weir help schema diff. A log in a directory \
        named diff, print or help is ./diff.

        Examples:
          weir schema events
          weir schema events --format json > released.json
          weir schema diff released.json events
        """,
      subcommands: [SchemaPrintCommand.self, SchemaDiffCommand.self],
      defaultSubcommand: SchemaPrintCommand.self)
  }

  /// How a schema and what differs in it are printed.
  enum SchemaFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
    case text
    case json
  }

  struct SchemaPrintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "print",
      abstract: "Print the types of events in a log.",
      usage: "weir schema [print] <directory> [--format <format>]",
      discussion: """
        Keys with --format json:
          events     an object for each form of an event, in the order in which they
                     came: event, wire_id, kind, formerly, inferred (there is no
                     declaration, it is what was seen), partial (there are more
                     fields than are listed), fields, count, first_offset,
                     last_offset
          fields     name, kind (such as uint64, [double], object), optional,
                     sensitive, formerly, and of objects their fields
          others     events of more forms than are listed, which is 4,096
          undefined  events whose definition is lost to damage
        """)

    @Argument(help: "The log's directory.")
    var directory: String

    @Option(help: "How it is printed: text or json.")
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
      abstract: "Print what differs between the types of events of two logs.",
      usage: "weir schema diff <old> <new> [--format <format>]",
      discussion: """
        Each of the two is a log's directory, or a file with what weir schema --format \
        json printed. A line for each difference: whether it breaks something, event, \
        field, what, and what it means to readers. Breaking is what a program of the new \
        version can't read of the old log, or one of the old version of the new log, if \
        only in some events; and a field that was sensitive and is not any more. An event \
        that does not occur in a log counts as not being there.

        Exit codes: 0 nothing breaks; 1 something does; 2 can't run. Damage in a log is a \
        line on standard error, and no breach.

        Keys with --format json:
          breaking  how many of the changes are
          changes   an array of objects with the keys what, event, field, breaking,
                    breaks (of new_readers, old_readers, privacy) and why

        Examples:
          weir schema diff released.json events
          weir schema diff old-events new-events --format json | jq .breaking
        """)

    @Argument(help: "The old log's directory, or its schema in a file.")
    var old: String

    @Argument(help: "The new log's directory, or its schema in a file.")
    var new: String

    @Option(help: "How it is printed: text or json.")
    var format: SchemaFormat = .text

    func run() throws {
      let changes = try SchemaSource.schema(old).changes(to: SchemaSource.schema(new))
      let report = DiffReport(changes)
      try writeOutput(format == .json ? try Table.json(report) : report.text)
      if report.breaking > 0 { throw ExitCode.breaking }
    }
  }

  /// Where a schema is read from.
  enum SchemaSource {
    /// The schema of a log, and whether some of the log could not be read.
    static func log(_ directory: String) throws -> (Schema, isDamaged: Bool) {
      var isDamaged = false
      let schema = try Schema(of: LogDirectory(directory)) { skip in
        if !skip.isRemoval { isDamaged = true }
        writeDiagnostic("\(directory): \(Damage.describe(skip))")
      }
      return (schema, isDamaged)
    }

    /// The schema of a log, or of a file if the path is a file.
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
        throw ToolError("\(path) is no schema: \(describe(error)); weir schema DIR --format json writes one")
      }
    }

    /// What is wrong with a file, in a phrase.
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

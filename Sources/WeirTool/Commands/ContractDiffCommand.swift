// ContractDiffCommand: `weir contract diff` and `weir contract approve`: compares two contracts, and keeps who approved
// which difference.

#if Tool
  import ArgumentParser
  import Foundation
  import Weir
  import WeirContracts

  struct ContractDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Print the differences between two contracts, and which are breaking.",
      usage: "weir contract diff <old> <new> [--approvals <file>] [--format <format>]",
      discussion: """
        Prints a line for each difference: whether it is breaking, the event, the \
        field, the change, and what the change means. A change is breaking if an event \
        that was valid under the old contract may violate the new contract: a mandatory \
        field or part of the context without a default, a kind, values that are no \
        longer allowed, a narrower range or length, another type or pattern, a removed \
        field or event. A field that is no longer sensitive is breaking too. In doubt, a \
        change counts as breaking. The event is empty for a rule for every event.

        With --approvals, every change needs an approval, whether the change is breaking \
        or not: see weir help contract approve. A file that does not exist has no \
        approvals.

        Exit codes: 0 no breaking change, or with --approvals no change without an \
        approval; 1 breaking changes, or with --approvals changes without an approval; \
        2 can't run.

        Keys with --format json:
          breaking    the number of breaking changes
          unapproved  the number of changes without an approval (with --approvals)
          changes     an array of objects with the keys what, event, field, breaking
                      and why; with --approvals also approved_by, an array of names

        Examples:
          weir contract diff released.json shop.json
          weir contract diff released.json shop.json --approvals shop.approvals.jsonl
          git show main:shop.json >old.json; weir contract diff old.json shop.json
        """)

    @Argument(help: "The old contract: a JSON or YAML file.", completion: .file())
    var old: String

    @Argument(help: "The new contract: a JSON or YAML file.", completion: .file())
    var new: String

    @Option(help: "The file of approvals. Without it, only breaking changes fail.", completion: .file())
    var approvals: String?

    @Option(help: "The output format: text or json.")
    var format: SchemaFormat = .text

    func run() throws {
      let changes = try ContractSource.compiled(old).changes(to: ContractSource.compiled(new))
      let report = DiffReport(changes, approvals: try approvals.map(ApprovalFile.read))
      try writeOutput(format == .json ? try Table.json(report) : report.text)
      if let unapproved = report.unapproved {
        if unapproved > 0 { throw ExitCode.unapproved }
      } else if report.breaking > 0 {
        throw ExitCode.breaking
      }
    }
  }

  struct ContractApproveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "approve",
      abstract: "Approve the differences between two contracts.",
      usage: """
        weir contract approve <old> <new> --approvals <file> --by <name>
                                   [--reason <reason>] [--breaking]
        """,
      discussion: """
        Approves the differences that are not breaking or, with --breaking, those that \
        are, unless the file has an approval already. Prints the approved differences, \
        those that are not approved, and the numbers of both. Look at weir contract diff \
        --approvals first.

        The file of approvals is meant to be committed beside the contract. The file has \
        a line of JSON for each approval, sorted. An approval is bound to the content of \
        the change: a later, different change of the same field is not approved.

        Exit codes: 0 differences are approved, or every difference had an approval; 1 \
        nothing is approved, and there are differences without an approval: the file is \
        not written; 2 can't run; 3 the disk is full.

        Examples:
          weir contract approve released.json shop.json \\
            --approvals shop.approvals.jsonl --by "Ada Lovelace" --reason campaign
          weir contract approve released.json shop.json \\
            --approvals shop.approvals.jsonl --by "data council" --breaking
        """)

    @Argument(help: "The old contract: a JSON or YAML file.", completion: .file())
    var old: String

    @Argument(help: "The new contract: a JSON or YAML file.", completion: .file())
    var new: String

    @Option(help: "The file of approvals. Created if it does not exist.", completion: .file())
    var approvals: String

    @Option(help: "Who approves the changes.")
    var by: String

    @Option(help: "Why the changes are approved.")
    var reason: String = ""

    @Flag(help: "Approve the breaking changes instead of the others.")
    var breaking = false

    func validate() throws {
      if by.isEmpty { throw ValidationError("--by is empty; say who approves the changes") }
    }

    func run() throws {
      let changes = try ContractSource.compiled(old).changes(to: ContractSource.compiled(new))
      var list = try ApprovalFile.read(approvals)
      let open = changes.filter { list.approvals(of: $0).isEmpty }
      let approved = open.filter { $0.isBreaking == breaking }
      let left = open.filter { $0.isBreaking != breaking }
      let isForNothing = approved.isEmpty && !left.isEmpty
      if !isForNothing {
        try list.approve(approved, by: by, reason: reason)
        try ApprovalFile.write(list, to: approvals)
      }
      try writeReport(report(approved, left))
      if isForNothing { throw ExitCode.unapproved }
    }

    /// What was approved, what was not, and how the rest is approved.
    private func report(_ approved: [ContractChange], _ left: [ContractChange]) -> String {
      var lines = approved.map { "\($0)" } + left.map { "\($0) (not approved)" }
      let rest =
        breaking
        ? "not approved that are not breaking; leave --breaking out to approve those"
        : "not approved that are breaking; --breaking approves those"
      lines.append("\(approved.count) approved" + (left.isEmpty ? "" : ", \(left.count) \(rest)"))
      return lines.map { Terminal.printable($0) + "\n" }.joined()
    }
  }

  /// The file of approvals.
  private enum ApprovalFile {
    /// Returns the approvals in the file. A file that does not exist has none.
    static func read(_ path: String) throws -> ContractApprovals {
      guard FileManager.default.fileExists(atPath: path) else { return ContractApprovals() }
      let bytes = try ContractSource.read(path)
      do {
        return try ContractApprovals(jsonLines: bytes)
      } catch {
        throw ContractSource.report(error, of: path, "is no file of approvals")
      }
    }

    /// Writes the file as a whole: a failure leaves the old file. As for sources, the umask says who may read the file.
    static func write(_ approvals: ContractApprovals, to path: String) throws {
      let target = try OutputTarget(path, permissions: 0o666)
      try target.write(Array(approvals.jsonLines()))
      try target.finish()
    }
  }
#endif

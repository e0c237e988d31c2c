// ContractApprovals: who approved which changes of a contract, as a file of JSON Lines that is kept beside the
// contract.
//
// A line is one approval. Lines are sorted by their bytes, so the same approvals always have the same bytes, and
// approvals of different people are different lines, which git merges like any text.

public import Weir
import WeirJSON

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Who approved which changes of a contract.
///
/// An approval is bound to the content of the change: the event, the field, the kind of difference, and what the old
/// and the new contract have at this place. An approval does not cover a later, different change of the same field. An
/// approval of a change that is not breaking does not cover a breaking change.
///
/// ```swift
/// var approvals = try ContractApprovals(jsonLines: file)
/// let changes = try old.compiled().changes(to: new.compiled())
/// let open = changes.filter { approvals.approvals(of: $0).isEmpty }
/// try approvals.approve(open.filter { !$0.isBreaking }, by: "Ada", reason: "spring campaign")
/// ```
///
/// The approvals are no signatures: a person who can change the file can approve under any name. The history of the
/// repository says who wrote which line.
public struct ContractApprovals: Hashable, Sendable {
  /// One approval.
  public struct Approval: Hashable, Sendable {
    /// The person or group that approved the change.
    public let by: String

    /// The reason, or empty.
    public let reason: String
  }

  /// The approvals of each change.
  private var lines: Set<Line> = []

  /// Creates an empty list.
  public init() {}

  /// The approvals of a change, sorted by name and reason. Empty for a change without an approval.
  public func approvals(of change: ContractChange) -> [Approval] {
    let place = Line.Place(change)
    let found = lines.filter { $0.place == place && ($0.isBreaking || !change.isBreaking) }
    let unique = Set(found.map { Approval(by: $0.by, reason: $0.reason) })
    return unique.sorted { ($0.by, $0.reason) < ($1.by, $1.reason) }
  }

  /// Approves changes, breaking or not. An approval that is in the list already changes nothing. Throws a `WeirError`
  /// if the name is empty.
  public mutating func approve(
    _ changes: some Sequence<ContractChange>, by name: String, reason: String = ""
  ) throws(WeirError) {
    guard !name.isEmpty else {
      throw WeirError(.invalid, "an approval has no name; say who approves the changes")
    }
    for change in changes {
      lines.insert(Line(place: Line.Place(change), isBreaking: change.isBreaking, by: name, reason: reason))
    }
  }
}

extension ContractApprovals {
  /// A line of the file.
  fileprivate struct Line: Hashable, Sendable {
    /// What is approved.
    struct Place: Hashable, Sendable {
      var what: ContractChange.What
      var event: String
      var field: String
      var content: ContractChangeContent
    }

    var place: Place
    var isBreaking: Bool
    var by: String
    var reason: String

    static let keys = ["contract", "event", "field", "change", "breaking", "was", "is", "by", "reason"]
  }

  /// Reads a file. The order of the lines does not matter, and a line may appear twice, as after a merge. Empty lines
  /// are ignored.
  ///
  /// Throws all problems at once, each with its line: what is not JSON, such as the marks of a conflict that git left;
  /// unknown, repeated and missing keys; values of the wrong kind. A file is refused if it is larger than 16 MiB.
  public init(jsonLines: Data) throws(ContractError) {
    guard jsonLines.count <= DocumentNode.maximumBytes else {
      throw ContractError([.init(message: "the file is larger than \(DocumentNode.maximumBytes >> 20) MiB")])
    }
    var reading = ApprovalReading()
    var rest = Array(jsonLines)[...]
    while !rest.isEmpty {
      reading.number += 1
      let bytes = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest[bytes.endIndex...].dropFirst()
      if bytes.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: " ") }) { continue }
      if let line = reading.line(Array(bytes)) { lines.insert(line) }
    }
    guard reading.problems.isEmpty else { throw ContractError(reading.problems) }
  }

  /// Returns the file: a line for each approval, sorted by bytes. ``init(jsonLines:)`` reads an equal list.
  public func jsonLines() -> Data {
    let texts = lines.map { Array($0.node.jsonLine().utf8) + [UInt8(ascii: "\n")] }
    return Data(texts.sorted { $0.lexicographicallyPrecedes($1) }.joined())
  }
}

extension ContractApprovals.Line.Place {
  init(_ change: ContractChange) {
    self.init(what: change.what, event: change.event, field: change.field, content: change.content)
  }
}

extension ContractApprovals.Line {
  fileprivate var node: DocumentNode {
    .map([
      ("contract", .text(place.content.contract)), ("event", .text(place.event)), ("field", .text(place.field)),
      ("change", .text(place.what.rawValue)), ("breaking", .bool(isBreaking)),
      ("was", Self.tree(place.content.was)), ("is", Self.tree(place.content.now)), ("by", .text(by)),
      ("reason", reason.isEmpty ? nil : .text(reason)),
    ])
  }

  /// Returns the tree of a text that was made of a tree.
  private static func tree(_ json: String) -> DocumentNode {
    (try? DocumentJSON.read(Array(json.utf8))) ?? DocumentNode(.null)
  }
}

/// Reads the lines of a file, and collects the problems.
private struct ApprovalReading: DocumentReading {
  var problems: [ContractError.Problem] = []
  /// The number of the line that is read.
  var number = 0

  mutating func problem(_ line: Int, _ message: String) {
    guard problems.count < ContractError.maximumProblems else { return }
    problems.append(.init(line: number, message: message))
  }

  mutating func line(_ bytes: [UInt8]) -> ContractApprovals.Line? {
    let before = problems.count
    if bytes.starts(with: Array("<<<<<<<".utf8)) || bytes.starts(with: Array("=======".utf8))
      || bytes.starts(with: Array(">>>>>>>".utf8))
    {
      problem(0, "git left the mark of a conflict; remove the mark and keep the approvals around it")
      return nil
    }
    let node: DocumentNode
    do {
      node = try DocumentJSON.read(bytes)
    } catch {
      problem(0, error.message)
      return nil
    }
    guard let map = map(node, "an approval", ContractApprovals.Line.keys) else { return nil }
    for key in ContractApprovals.Line.keys where key != "reason" && map[key] == nil {
      problem(0, "the key \(key) is missing; restore the line, or approve the change again")
    }
    let word = text(map, "change")
    let what = word.flatMap(ContractChange.What.init)
    if let word, what == nil {
      let words = ContractChange.What.allCases.map(\.rawValue)
      problem(0, "there is no change \(quoted(word))\(Spelling.hint(word, among: words))")
    }
    let by = text(map, "by")
    if by?.isEmpty == true { problem(0, "by is empty; write who approved the change") }
    let content = ContractChangeContent(
      contract: text(map, "contract") ?? "", was: map["was"]?.jsonLine() ?? "", now: map["is"]?.jsonLine() ?? "")
    let place = (event: text(map, "event") ?? "", field: text(map, "field") ?? "")
    let isBreaking = flag(map, "breaking")
    let reason = text(map, "reason") ?? ""
    guard problems.count == before, let what, let by else { return nil }
    return ContractApprovals.Line(
      place: .init(what: what, event: place.event, field: place.field, content: content), isBreaking: isBreaking,
      by: by, reason: reason)
  }
}

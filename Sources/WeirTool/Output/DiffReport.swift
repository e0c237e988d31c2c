// DiffReport: what `weir contract diff` and `weir schema diff` print.

#if Tool
  import WeirContracts

  /// The keys with `--format json`.
  struct DiffReport: Encodable {
    struct Change: Encodable {
      var what: String
      var event: String
      var field: String
      var breaking: Bool
      /// Of schemas alone.
      var breaks: [String]?
      var why: String
      /// Of contracts with approvals alone.
      var approvedBy: [String]?

      private enum CodingKeys: String, CodingKey {
        case what, event, field, breaking, breaks, why
        case approvedBy = "approved_by"
      }
    }

    var breaking: Int
    /// The changes that nobody approved; `nil` without approvals.
    var unapproved: Int?
    var changes: [Change]
    private let lines: [String]

    private enum CodingKeys: String, CodingKey {
      case breaking, unapproved, changes
    }

    /// With `approvals`, each change has the names of those who approved the change.
    init(_ changes: [ContractChange], approvals: ContractApprovals? = nil) {
      var lines: [String] = []
      let found = changes.map { change in
        var names: [String]?
        if let approvals {
          names = approvals.approvals(of: change).map(\.by).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        }
        let note = names.map { $0.isEmpty ? " (not approved)" : " (approved by \($0.joined(separator: ", ")))" }
        lines.append("\(change)\(note ?? "")")
        return Change(
          what: change.what.rawValue, event: change.event, field: change.field, breaking: change.isBreaking,
          why: change.why, approvedBy: names)
      }
      self.init(found, lines: lines)
      if approvals != nil { unapproved = found.count { $0.approvedBy?.isEmpty == true } }
    }

    init(_ changes: [SchemaChange]) {
      self.init(
        changes.map {
          Change(
            what: $0.what.rawValue, event: $0.event, field: $0.field, breaking: $0.isBreaking,
            breaks: $0.breaks.sorted().map(\.rawValue), why: $0.why)
        }, lines: changes.map(\.description))
    }

    private init(_ changes: [Change], lines: [String]) {
      breaking = changes.count { $0.breaking }
      self.changes = changes
      self.lines = lines
    }

    /// A line for each difference, then the sums.
    var text: String {
      if lines.isEmpty { return "no difference\n" }
      return lines.map { Terminal.printable($0) + "\n" }.joined()
        + "\(lines.count) \(lines.count == 1 ? "difference" : "differences"), \(breaking) breaking"
        + (unapproved.map { ", \($0) not approved" } ?? "") + "\n"
    }
  }
#endif

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
    }

    var breaking: Int
    var changes: [Change]
    private let lines: [String]

    private enum CodingKeys: String, CodingKey {
      case breaking, changes
    }

    init(_ changes: [ContractChange]) {
      self.init(
        changes.map {
          Change(what: $0.what.rawValue, event: $0.event, field: $0.field, breaking: $0.isBreaking, why: $0.why)
        }, lines: changes.map(\.description))
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
        + "\(lines.count) \(lines.count == 1 ? "difference" : "differences"), \(breaking) breaking\n"
    }
  }
#endif

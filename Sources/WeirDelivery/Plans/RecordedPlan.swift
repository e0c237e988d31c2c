// RecordedPlan: what is done to the events of a provider, kept beside the provider's cursor. A later delivery in the
// provider's name compares: would the provider get the same events, and would it get more of them?
//
// The file is `cursors/NAME.plan`: JSON with the keys of a plan that change events. The tool adds the key `by`. The
// file is written under another name and renamed. Losing the file loses no event.

package import Weir
import WeirContracts
import WeirJSON

/// The part of a plan's entry that changes events, as text.
package struct RecordedPlan: Hashable, Sendable {
  /// Who delivers under the plan.
  package enum Author: Hashable, Sendable {
    /// A program. The program's plan replaces any other, because only the program knows its closures.
    case program
    /// The tool, which stands in for a program. The tool's plan never takes the place of a program's plan.
    case tool
    /// Nobody knows: the file is damaged. Any plan replaces it.
    case unknown
  }

  private static let maximumBytes = 16 << 20
  private static let authorKey = "by"

  /// The JSON of the keys. Closures are names in parentheses, and a contract is its name, its version and a checksum.
  package let text: String
  package let author: Author

  /// Describes what an entry does to events.
  package init(_ entry: DeliveryPlan.Entry, by author: Author = .program) {
    let contract = entry.options.contract.map { contract in
      let checksum = FNV1a.hash64(Array(contract.contract.node.json().utf8))
      return DocumentNode.map([
        ("contract", .text(contract.contract.name)), ("version", .text(contract.contract.version)),
        ("checksum", .text(String(checksum, radix: 16))),
      ])
    }
    let keys = [(Self.authorKey, author == .tool ? DocumentNode.text("weir") : nil), ("contract", contract)]
    text = DocumentNode.map(keys + PlanWriting.preparation(entry)).json() + "\n"
    self.author = author
  }

  private init(text: String) {
    self.text = text
    author =
      Self.entries(of: text).map { entries in
        entries.contains { $0.key == Self.authorKey } ? Author.tool : Author.program
      } ?? .unknown
  }

  /// Reads what was recorded for a provider. Returns `nil` if nothing was.
  package init?(
    of name: String, in logDirectory: String, calls: SystemCalls = SystemCalls()
  ) throws(WeirError) {
    let log = try calls.openDirectory(logDirectory)
    let cursors: Descriptor
    do throws(WeirError) {
      cursors = try calls.openDirectory(Cursor.directoryName, in: log)
    } catch {
      guard error.code == .missing else { throw error }
      return nil
    }
    guard let file = try calls.open(name + ".plan", in: cursors, forWriting: false) else { return nil }
    let count = min(try calls.byteCount(of: file), Self.maximumBytes)
    self.init(text: String(decoding: try calls.read(file, count, at: 0), as: UTF8.self))
  }

  /// Records the plan for a provider, in place of `recorded`. Writes nothing if `recorded` is the same plan, or if
  /// `recorded` is a program's plan and this one is the tool's.
  func write(
    over recorded: RecordedPlan?, for name: String, in logDirectory: String, calls: SystemCalls
  ) throws(WeirError) {
    if let recorded, recorded == self || author == .tool && recorded.author == .program { return }
    let fileName = name + ".plan"
    let directory = try calls.openDirectory(Cursor.directoryName, in: try calls.openDirectory(logDirectory))
    try calls.unlink(fileName + ".new", in: directory)
    let file = try calls.create(fileName + ".new", in: directory)
    try calls.write(file, Array(text.utf8), at: 0)
    try calls.syncData(file)
    try calls.rename(fileName + ".new", to: fileName, in: directory)
    try calls.syncDirectory(directory)
  }

  // MARK: What is kept from the provider

  /// What this plan keeps from the provider, and `other` does not, in the words of a plan's file: pseudonyms,
  /// redaction, the contract, which may mark fields as sensitive, and the steps that leave out fields or shorten
  /// addresses.
  package func kept(notBy other: RecordedPlan) -> [String] {
    author == .unknown ? [] : Self.kept(text).subtracting(Self.kept(other.text)).sorted()
  }

  private static func kept(_ text: String) -> Set<String> {
    var kept: Set<String> = ["redacts_sensitive"]
    for entry in entries(of: text) ?? [] {
      switch (entry.key, entry.value.content) {
      case ("redacts_sensitive", .bool(false)): kept.remove(entry.key)
      case ("pseudonym", .text(let fingerprint)): kept.insert("pseudonym \(fingerprint)")
      // A corrected contract is no loss.
      case ("contract", _), ("omits_unknown_fields", _): kept.insert(entry.key)
      case ("mapper", .list(let steps)): kept.formUnion(steps.filter(keepsFields).map { $0.jsonLine() })
      default: continue
      }
    }
    return kept
  }

  private static func keepsFields(_ step: DocumentNode) -> Bool {
    guard case .map(let entries) = step.content, let entry = entries.first else { return false }
    switch (entry.key, entry.value.content) {
    case ("shortening_addresses", _): return true
    case ("only", .map(let arguments)), ("without", .map(let arguments)): return arguments.first?.key == "fields"
    default: return false
    }
  }

  /// The keys of a record; `nil` if the record is damaged.
  private static func entries(of text: String) -> [DocumentNode.Entry]? {
    guard case .map(let entries)? = (try? DocumentJSON.read(Array(text.utf8)))?.content else { return nil }
    return entries
  }
}

extension DeliveryPlan.Entry {
  /// Throws `invalid` if the provider would get other events under the same name: if a program that delivers the log to
  /// this provider does other things to events than this entry, or if an earlier delivery of the tool kept something
  /// from the provider that this entry does not; or if the record of that is damaged.
  package func checkRecorded(in logDirectory: String) throws(WeirError) {
    guard let recorded = try RecordedPlan(of: name, in: logDirectory) else { return }
    let own = RecordedPlan(self)
    let path = "\(logDirectory)/\(Cursor.directoryName)/\(name).plan"
    switch recorded.author {
    case .program:
      guard recorded != own else { return }
      throw WeirError(
        .invalid,
        """
        the program delivers other events to \(name): what the program does to events is \(recorded.summary) \
        (\(path)), and here it would be \(own.summary); give the program's plan, or another name
        """, path: path)
    case .tool:
      let missing = recorded.kept(notBy: own)
      guard !missing.isEmpty else { return }
      throw WeirError(
        .invalid,
        """
        \(name) would get more than before: an earlier delivery had \(missing.joined(separator: ", ")) (\(path)), and \
        this delivery has not; give the plan of the earlier delivery, or another name
        """, path: path)
    case .unknown:
      throw WeirError(
        .invalid,
        """
        \(path) is damaged, so nobody knows what \(name) must not get; start the program that delivers to \(name), which \
        writes the file again, or give another name
        """, path: path)
    }
  }
}

extension RecordedPlan {
  /// The text on one line, cut to a length for messages.
  fileprivate var summary: String {
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return words == "{}" ? "nothing" : words.count > 400 ? words.prefix(400) + "…" : words
  }
}

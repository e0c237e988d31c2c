// RecordedPlan: what the program does to the events of a provider, kept beside the provider's cursor. So whoever
// delivers in the provider's name, after the program's death, can see whether the provider would get the same events.
//
// The file is `cursors/NAME.plan`: JSON with the keys of a plan that change events. It is written under another name
// and renamed. Losing the file loses no event.

package import Weir
import WeirContracts
import WeirJSON

/// The part of a plan's entry that changes events, as text.
package struct RecordedPlan: Hashable, Sendable {
  private static let maximumBytes = 16 << 20

  /// The JSON of the keys. Closures are names in parentheses, and a contract is its name, its version and a checksum.
  package let text: String

  /// Describes what an entry does to events.
  package init(_ entry: DeliveryPlan.Entry) {
    let contract = entry.options.contract.map { contract in
      let checksum = FNV1a.hash64(Array(contract.contract.node.json().utf8))
      return DocumentNode.map([
        ("contract", .text(contract.contract.name)), ("version", .text(contract.contract.version)),
        ("checksum", .text(String(checksum, radix: 16))),
      ])
    }
    text = DocumentNode.map([("contract", contract)] + PlanWriting.preparation(entry)).json() + "\n"
  }

  private init(text: String) {
    self.text = text
  }

  /// Reads what was recorded for a provider. Returns `nil` if nothing was.
  package init?(of name: String, in logDirectory: String) throws(WeirError) {
    let calls = SystemCalls()
    let log = try calls.openDirectory(logDirectory)
    guard try calls.names(in: log).contains(Cursor.directoryName) else { return nil }
    let cursors = try calls.openDirectory(Cursor.directoryName, in: log)
    guard let file = try calls.open(name + ".plan", in: cursors, forWriting: false) else { return nil }
    let count = min(try calls.byteCount(of: file), Self.maximumBytes)
    self.init(text: String(decoding: try calls.read(file, count, at: 0), as: UTF8.self))
  }

  /// Records the text for a provider, unless the same text is recorded.
  func write(for name: String, in logDirectory: String, calls: SystemCalls) throws(WeirError) {
    let fileName = name + ".plan"
    let directory = try calls.openDirectory(Cursor.directoryName, in: try calls.openDirectory(logDirectory))
    let bytes = Array(text.utf8)
    if let file = try calls.open(fileName, in: directory, forWriting: false),
      try calls.read(file, bytes.count + 1, at: 0) == bytes
    {
      return
    }
    try calls.unlink(fileName + ".new", in: directory)
    let file = try calls.create(fileName + ".new", in: directory)
    try calls.write(file, bytes, at: 0)
    try calls.syncData(file)
    try calls.rename(fileName + ".new", to: fileName, in: directory)
    try calls.syncDirectory(directory)
  }
}

extension DeliveryPlan.Entry {
  /// Throws `invalid` if the program that delivers the log to this provider does other things to events than this
  /// entry: then the provider would get other events under the same name.
  package func checkRecorded(in logDirectory: String) throws(WeirError) {
    guard let recorded = try RecordedPlan(of: name, in: logDirectory) else { return }
    let own = RecordedPlan(self)
    guard recorded != own else { return }
    let path = "\(logDirectory)/\(Cursor.directoryName)/\(name).plan"
    throw WeirError(
      .invalid,
      """
      the program delivers other events to \(name): what the program does to events is \(recorded.summary) (\(path)), \
      and here it would be \(own.summary); give the program's plan, or another name
      """, path: path)
  }
}

extension RecordedPlan {
  /// The text on one line, cut to a length for messages.
  fileprivate var summary: String {
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return words == "{}" ? "nothing" : words.count > 400 ? words.prefix(400) + "…" : words
  }
}

// DocumentReading: reads the values of a file's tree. Strict: everything unknown is a problem with a line, and is never
// ignored.

import Weir

/// Reads values from a tree, and collects the problems.
package protocol DocumentReading {
  /// Notes a problem at a line, which is 0 if there is no file.
  mutating func problem(_ line: Int, _ message: String)
}

extension DocumentReading {
  /// Returns the entries of a map whose keys are names, or reports a problem.
  package mutating func entries(_ node: DocumentNode, _ key: String, of what: String) -> [DocumentNode.Entry] {
    guard case .map(let entries) = node.content else {
      problem(node.line, "\(key) is \(node.kindName); write \(what)s' names as keys")
      return []
    }
    return entries
  }

  /// Returns the values of a map with fixed keys. Reports unknown and repeated keys. Of repeated keys, the first
  /// counts. `others` are the names of keys in other languages.
  package mutating func map(
    _ node: DocumentNode, _ what: String, _ keys: [String], _ others: [String: String] = [:]
  ) -> [String: DocumentNode]? {
    guard case .map(let entries) = node.content else {
      problem(node.line, "\(what) is \(node.kindName); write a map with the keys \(keys.joined(separator: ", "))")
      return nil
    }
    noteEqualKeys(entries, "the key")
    for entry in entries where !keys.contains(entry.key) {
      let hint = Spelling.hint(entry.key, among: keys, alsoKnownAs: others)
      problem(entry.line, "\(what) has no key \(quoted(entry.key))\(hint)")
    }
    return Dictionary(entries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  package mutating func noteEqualKeys(_ entries: [DocumentNode.Entry], _ what: String) {
    var seen: Set<String> = []
    for entry in entries where !seen.insert(entry.key).inserted {
      problem(entry.line, "\(what) \(quoted(entry.key)) appears twice; merge the two")
    }
  }

  package mutating func text(_ map: [String: DocumentNode], _ key: String) -> String? {
    guard let node = map[key] else { return nil }
    if case .text(let text) = node.content { return text }
    problem(node.line, "\(key) is \(node.kindName); write a text, in quotation marks")
    return nil
  }

  /// Returns the flag, or `nil` if the key is missing.
  package mutating func optionalFlag(_ map: [String: DocumentNode], _ key: String) -> Bool? {
    guard let node = map[key] else { return nil }
    if case .bool(let value) = node.content { return value }
    problem(node.line, "\(key) is \(node.kindName); write true or false")
    return nil
  }

  package mutating func flag(_ map: [String: DocumentNode], _ key: String) -> Bool {
    optionalFlag(map, key) ?? false
  }

  package mutating func whole(_ map: [String: DocumentNode], _ key: String) -> Int? {
    guard let node = map[key] else { return nil }
    switch node.content {
    case .number(.int(let number)): return Int(number)
    case .number(.uint(let number)): problem(node.line, "\(key) is \(number); write a number of at most \(Int.max)")
    case .number(.double(let number)):
      // 1.0 and 1e3 are whole, as in JSON Schema.
      if let whole = Int(exactly: number) { return whole }
      problem(node.line, "\(key) is a number; write a whole number")
    default: problem(node.line, "\(key) is \(node.kindName); write a whole number")
    }
    return nil
  }

  /// Returns a name of the file in quotation marks, cut to a length for messages.
  package func quoted(_ text: String) -> String { FieldValue.string(String(text.prefix(80))).description }
}

// DocumentYAML: the tree of a YAML file, a contract or a plan.
//
// Yams parses the text, and its result becomes the same tree as that of a JSON file. Plain values are
// interpreted as in JSON (YAML 1.2's core schema, except for its forms of numbers): NO and on are texts, and so is 010.

#if YAML
  import Weir
  import WeirJSON
  import Yams

  /// Reads one YAML document into a tree.
  struct DocumentYAML {
    /// The character that replaces the asterisks of the text during parsing.
    private let asterisk: Unicode.Scalar
    private var nodes = 0

    /// The maximum size of a text, in bytes. Before values can be counted, the parser takes some hundred bytes of memory
    /// for each.
    static let maximumBytes = 1 << 20

    /// Returns the tree of the text, or throws the syntax error.
    static func document(_ text: String) throws(DocumentSyntaxError) -> DocumentNode {
      do {
        return try read(text)
      } catch let error as DocumentSyntaxError {
        throw error
      } catch {
        throw DocumentSyntaxError(line: 1, message: "this is no YAML: \(error)")
      }
    }

    private static func read(_ text: String) throws -> DocumentNode {
      guard text.utf8.count <= DocumentYAML.maximumBytes else {
        throw DocumentSyntaxError(line: 1, message: "the file is larger than \(DocumentYAML.maximumBytes >> 20) MiB")
      }
      // Aliases multiply: a few lines of them stand for more values than memory can hold. Yams follows aliases when
      // it compares keys, before it returns anything, so the parser must not see any. An alias begins with an asterisk.
      // With another character in its place, an alias is a plain text that begins with that character, and is
      // recognised by it. Everywhere else, the character is converted back to an asterisk.
      let taken = privateUse(in: text)
      guard let asterisk = marks.lazy.filter({ !taken.contains($0) }).compactMap(Unicode.Scalar.init).first else {
        throw DocumentSyntaxError(line: 1, message: "the file holds too many characters of private use")
      }
      var reader = DocumentYAML(asterisk: asterisk)
      do {
        // Some editors write a byte order mark first, which has no meaning in UTF-8. The parser would refuse it.
        let hasOrderMark = text.unicodeScalars.first == "\u{FEFF}"
        let content = hasOrderMark ? String(text.unicodeScalars.dropFirst()) : text
        let parser = try Parser(yaml: reader.replaced(content, "*", by: asterisk), encoding: .utf8)
        guard let root = try parser.singleRoot() else {
          throw DocumentSyntaxError(line: 1, message: "the file is empty")
        }
        return try reader.node(root, depth: 0)
      } catch let error as YamlError {
        throw reader.syntaxError(error)
      }
    }

    /// The characters that may replace asterisks.
    private static let marks: ClosedRange<UInt32> = 0xE000...0xF8FF

    /// Returns the replacement characters that occur in the text, as they are or as `\uE000` or `\U0000E000`, so that
    /// they are not converted to asterisks. Not every backslash begins an escape, so the result may contain more than
    /// those.
    private static func privateUse(in text: String) -> Set<UInt32> {
      var found: Set<UInt32> = []
      var rest = text.unicodeScalars[...]
      while let scalar = rest.popFirst() {
        if marks.contains(scalar.value) { found.insert(scalar.value) }
        guard scalar == "\\", let letter = rest.first, letter == "u" || letter == "U" else { continue }
        let digits = rest.dropFirst().prefix(letter == "u" ? 4 : 8)
        if let value = UInt32(String(digits), radix: 16), marks.contains(value) { found.insert(value) }
      }
      return found
    }

    private init(asterisk: Unicode.Scalar) { self.asterisk = asterisk }

    private func replaced(_ text: String, _ old: Unicode.Scalar, by new: Unicode.Scalar) -> String {
      guard text.unicodeScalars.contains(old) else { return text }
      var result = String.UnicodeScalarView()
      for scalar in text.unicodeScalars { result.append(scalar == old ? new : scalar) }
      return String(result)
    }

    private mutating func node(_ node: Node, depth: Int) throws(DocumentSyntaxError) -> DocumentNode {
      let line = node.mark?.line ?? 0
      nodes += 1
      guard depth <= DocumentNode.maximumFileDepth else {
        throw DocumentSyntaxError(line: line, message: "values nest more than \(DocumentNode.maximumFileDepth) deep")
      }
      guard nodes <= DocumentNode.maximumNodes else {
        throw DocumentSyntaxError(line: line, message: "the file holds more than \(DocumentNode.maximumNodes) values")
      }
      switch node {
      case .scalar(let scalar):
        return DocumentNode(try content(of: scalar, line), line: line)
      case .sequence(let sequence):
        try refuseTag(sequence.tag, line)
        var values: [DocumentNode] = []
        for value in sequence { values.append(try self.node(value, depth: depth + 1)) }
        return DocumentNode(.list(values), line: line)
      case .mapping(let mapping):
        try refuseTag(mapping.tag, line)
        var entries: [DocumentNode.Entry] = []
        for (key, value) in mapping {
          let keyLine = key.mark?.line ?? line
          guard case .scalar(let scalar) = key else {
            throw DocumentSyntaxError(line: keyLine, message: "a list or a map is a key here; write a text")
          }
          let name = try self.key(scalar, keyLine)
          entries.append(.init(key: name, line: keyLine, value: try self.node(value, depth: depth + 1)))
        }
        return DocumentNode(.map(entries), line: line)
      case .alias: throw aliasRefused(line)
      }
    }

    /// Returns a key, which is a text, whatever it looks like. Yams has already compared the keys, and resolved their
    /// tags for that, so YAML's own tags have no meaning here.
    private func key(_ scalar: Node.Scalar, _ line: Int) throws(DocumentSyntaxError) -> String {
      if isAlias(scalar) { throw aliasRefused(line) }
      if !scalar.tag.description.hasPrefix("tag:yaml.org,2002:") { try refuseTag(scalar.tag, line) }
      return replaced(scalar.string, asterisk, by: "*")
    }

    private func isAlias(_ scalar: Node.Scalar) -> Bool {
      scalar.style == .plain && scalar.string.unicodeScalars.first == asterisk
    }

    private func content(
      of scalar: Node.Scalar, _ line: Int
    ) throws(DocumentSyntaxError) -> DocumentNode.Content {
      if isAlias(scalar) { throw aliasRefused(line) }
      let text = scalar.string
      let tag = scalar.tag.description
      if scalar.style != .plain || tag == Tag.Name.str.rawValue || tag == Tag.Name.nonSpecific.rawValue {
        return .text(replaced(text, asterisk, by: "*"))
      }
      try refuseTag(scalar.tag, line)
      switch text {
      case "", "~", "null", "Null", "NULL": return .null
      case "true", "True", "TRUE": return .bool(true)
      case "false", "False", "FALSE": return .bool(false)
      default: return try number(text, line).map { .number($0) } ?? .text(replaced(text, asterisk, by: "*"))
      }
    }

    /// Returns the number if the text is a number in JSON's notation.
    private func number(_ text: String, _ line: Int) throws(DocumentSyntaxError) -> FieldValue? {
      var rest = text.utf8[...]
      func digits(_ rest: inout Substring.UTF8View) -> Int {
        let count = rest.prefix { (0x30...0x39).contains($0) }.count
        rest = rest.dropFirst(count)
        return count
      }
      if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
      let startsWithZero = rest.first == UInt8(ascii: "0")
      let whole = digits(&rest)
      guard whole > 0, !(startsWithZero && whole > 1) else { return nil }
      var isWhole = true
      if rest.first == UInt8(ascii: ".") {
        isWhole = false
        rest = rest.dropFirst()
        guard digits(&rest) > 0 else { return nil }
      }
      if let letter = rest.first, letter | 0x20 == UInt8(ascii: "e") {
        isWhole = false
        rest = rest.dropFirst()
        if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { rest = rest.dropFirst() }
        guard digits(&rest) > 0 else { return nil }
      }
      guard rest.isEmpty else { return nil }
      guard let number = FieldValue(number: text, isWhole: isWhole) else {
        throw DocumentSyntaxError(line: line, message: "the number \(text.prefix(40)) is out of range for a field")
      }
      return number
    }

    private func refuseTag(_ tag: Tag, _ line: Int) throws(DocumentSyntaxError) {
      let name = tag.description
      let plain = [Tag.Name.implicit, .seq, .map, .nonSpecific].map(\.rawValue)
      guard plain.contains(name) else {
        throw DocumentSyntaxError(line: line, message: "the tag \(name.prefix(80)) is not supported; remove it")
      }
    }

    private func aliasRefused(_ line: Int) -> DocumentSyntaxError {
      DocumentSyntaxError(
        line: line, message: "an alias is not supported; repeat the value, or put a text that begins with * in quotes")
    }

    private func syntaxError(_ error: YamlError) -> DocumentSyntaxError {
      switch error {
      case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
        .composer(_, let problem, let mark, _):
        return DocumentSyntaxError(line: mark.line, message: "this is no YAML: \(replaced(problem, asterisk, by: "*"))")
      case .duplicatedKeysInMapping(let keys, let context):
        let names = keys.map { replaced($0, asterisk, by: "*") }.joined(separator: ", ")
        return DocumentSyntaxError(
          line: context.mark.line,
          message: "repeated keys: \(names.prefix(200)), in the map that begins here; merge the values")
      case .reader(let problem, let offset, _, let yaml):
        let line = yaml.prefix(offset ?? 0).count(where: \.isNewline) + 1
        return DocumentSyntaxError(line: line, message: "this is no YAML: \(problem)")
      default:
        return DocumentSyntaxError(
          line: 1, message: "this is no YAML: \(replaced("\(error)", asterisk, by: "*").prefix(200))")
      }
    }
  }
#endif

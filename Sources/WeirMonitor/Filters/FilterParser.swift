// FilterParser: reads the text of a filter, word by word.

import Weir
import WeirContracts
import WeirDelivery

/// One word of a filter: what stands between spaces that are in no quotation marks.
struct FilterWord: Hashable, Sendable {
  /// The word without its quotation marks.
  var text: String
  /// Where the word's first quotation mark was, if there was one: an operator behind it is no operator.
  var quotedFrom: Int?
  var isNegated: Bool

  static let maximumBytes = 4096

  /// Returns the words of a filter.
  static func words(of filter: String) throws(FilterError) -> [FilterWord] {
    guard filter.utf8.count <= maximumBytes else {
      throw FilterError("the filter has \(filter.utf8.count) bytes; \(maximumBytes) are the most")
    }
    var words: [FilterWord] = []
    var word: FilterWord?
    var isQuoted = false
    var isEscaped = false
    for character in filter {
      if isEscaped {
        word?.text.append(character)
        isEscaped = false
      } else if isQuoted, character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        var begun = word ?? FilterWord(text: "", quotedFrom: nil, isNegated: false)
        if begun.quotedFrom == nil { begun.quotedFrom = begun.text.count }
        word = begun
        isQuoted.toggle()
      } else if character.isWhitespace, !isQuoted {
        if let word { words.append(word) }
        word = nil
      } else if character == "-", word == nil {
        word = FilterWord(text: "", quotedFrom: nil, isNegated: true)
      } else {
        var begun = word ?? FilterWord(text: "", quotedFrom: nil, isNegated: false)
        begun.text.append(character)
        word = begun
      }
    }
    if isQuoted { throw FilterError("a quotation mark is not closed: write a second \" where the text ends") }
    if let word { words.append(word) }
    // A dash alone is a text to look for.
    return words.map { $0.text.isEmpty && $0.isNegated && $0.quotedFrom == nil ? $0.asDash : $0 }
  }

  private var asDash: FilterWord { FilterWord(text: "-", quotedFrom: nil, isNegated: false) }

  /// The part of the word in which operators count.
  var head: Substring { text.prefix(quotedFrom ?? text.count) }
}

extension FilterTerm {
  /// What a word of a filter says.
  enum Part: Hashable, Sendable {
    case term(FilterTerm)
    case from(Offset)
    case to(Offset)
    case since(Timestamp)
    case until(Timestamp)
  }

  private static let keys = ["name", "user", "view", "kind", "is", "at", "since", "until", "from", "to"]

  /// Reads a word.
  static func part(_ word: FilterWord) throws(FilterError) -> Part {
    if let colon = word.head.firstIndex(of: ":"), keys.contains(String(word.head[..<colon])) {
      return try keyed(word, String(word.head[..<colon]), String(word.text[word.text.index(after: colon)...]))
    }
    if let test = try comparison(word) { return .term(FilterTerm(isNegated: word.isNegated, test: test)) }
    guard !word.text.isEmpty else { throw FilterError("a term is empty; write what to look for, or leave it out") }
    return .term(FilterTerm(isNegated: word.isNegated, test: .text(word.text.lowercased())))
  }

  private static func keyed(_ word: FilterWord, _ key: String, _ value: String) throws(FilterError) -> Part {
    guard !value.isEmpty else { throw FilterError("\(key): has no value; write it behind the colon, without a space") }
    func term(_ test: Test) -> Part { .term(FilterTerm(isNegated: word.isNegated, test: test)) }
    func patterns() -> [TextPattern] {
      // In quotation marks a comma is a part of the text.
      guard word.quotedFrom == nil else { return [TextPattern(value)] }
      return value.split(separator: ",").map { TextPattern(String($0)) }
    }
    switch key {
    case "name": return term(.name(patterns()))
    case "user": return term(.user(patterns()))
    case "view": return term(.view(patterns()))
    case "kind":
      guard let kind = EventKind(rawValue: value) else { throw unknown(value, key, EventKind.allCases.map(\.rawValue)) }
      return term(.kind(kind))
    case "is":
      guard let flag = EventFlag(rawValue: value) else { throw unknown(value, key, EventFlag.allCases.map(\.rawValue)) }
      return term(.flag(flag))
    case "at": return term(try state(value))
    default: break
    }
    guard !word.isNegated else { throw FilterError("-\(key): is not possible; write \(opposite(of: key)): instead") }
    switch key {
    case "since": return .since(try time(value, key))
    case "until": return .until(try time(value, key))
    case "from": return .from(try offset(value, key))
    default: return .to(try offset(value, key))
    }
  }

  private static func opposite(of key: String) -> String {
    switch key {
    case "since": "until"
    case "until": "since"
    case "from": "to"
    default: "from"
    }
  }

  private static func state(_ value: String) throws(FilterError) -> Test {
    let names = DeliveryStates.State.allCases.map(\.rawValue)
    guard let sign = value.lastIndex(of: "="), sign > value.startIndex else {
      throw FilterError("at:\(value) names no state; write at:PROVIDER=STATE, with * for any provider")
    }
    let provider = String(value[..<sign])
    let state = String(value[value.index(after: sign)...])
    guard let found = DeliveryStates.State(rawValue: state) else { throw unknown(state, "at", names) }
    return .state(provider: provider == "*" ? nil : provider, found)
  }

  private static func time(_ value: String, _ key: String) throws(FilterError) -> Timestamp {
    guard let time = Timestamp(text: value, form: .strict) else {
      throw FilterError("\(key):\(value) is no time; write one such as 2026-11-21T09:30:00Z, or 2026-11-21")
    }
    return time
  }

  private static func offset(_ value: String, _ key: String) throws(FilterError) -> Offset {
    guard let offset = Offset(value), value.utf8.first != UInt8(ascii: "+") else {
      throw FilterError("\(key):\(value) is no offset; write a whole number, such as \(key):4711")
    }
    return offset
  }

  private static func unknown(_ value: String, _ key: String, _ known: [String]) -> FilterError {
    FilterError("\(key): has no \(value); it can be \(known.joined(separator: ", "))")
  }

  /// Reads `total>=100`; `nil` if the word has no operator, or nothing before it.
  private static func comparison(_ word: FilterWord) throws(FilterError) -> Test? {
    guard let place = word.head.firstIndex(where: { "=!<>".contains($0) }), place > word.head.startIndex,
      let comparison = Comparison.allCases.first(where: { word.text[place...].hasPrefix($0.rawValue) })
    else { return nil }
    let name = String(word.text[..<place])
    let value = String(word.text[place...].dropFirst(comparison.rawValue.count))
    switch FieldPath.parse(name) {
    case .success(let path): return .field(path, comparison, FilterOperand(value))
    case .failure(let problem):
      throw FilterError("\(name) is no field: \(problem.message); to look for the text, put it in quotation marks")
    }
  }
}

// NameWords: splits a name in any style into words, so that mappers can join them in another style.

import Weir

/// A name split into words: `HTTPStatus` consists of `HTTP` and `Status`.
///
/// A word starts
///  - after `_` and any other character that is neither a letter nor a digit,
///  - at an uppercase letter after a lowercase letter or a digit (`userID`, `v2Events`),
///  - at the last of several uppercase letters if a lowercase letter follows (`HTTPStatus`), except for a plural
///    (`userIDs`).
///
/// Digits belong to the word before them (`UTF8`, `parseURLPath2`). Letters without case, such as Chinese letters,
/// start no word. Words that these rules would split (`OAuth`, `iPhone`) must be passed explicitly.
struct NameWords {
  enum Piece: Hashable {
    case word(String)
    /// This many underscores.
    case underscores(Int)
  }

  private(set) var pieces: [Piece] = []
  private var word = ""

  /// Splits `name`. `kept` are whole words, exactly as they are written, the longest first.
  init(_ name: Substring, keeping kept: [[Character]]) {
    let text = Array(name)
    var index = 0
    while index < text.count {
      let letter = text[index]
      if letter == "_" || !(letter.isLetter || letter.isNumber || !letter.isASCII) || letter.isWhitespace {
        endWord()
        addUnderscore()
      } else {
        if Self.isWordStart(text, index) { endWord() }
        if word.isEmpty, let match = kept.first(where: { Self.isWord($0, text, index) }) {
          word.append(contentsOf: match)
          index += match.count
          continue
        }
        word.append(letter)
      }
      index += 1
    }
    endWord()
  }

  private mutating func endWord() {
    if !word.isEmpty { pieces.append(.word(word)) }
    word = ""
  }

  private mutating func addUnderscore() {
    if case .underscores(let count) = pieces.last {
      pieces[pieces.count - 1] = .underscores(count + 1)
    } else {
      pieces.append(.underscores(1))
    }
  }

  private static func isWordStart(_ text: [Character], _ index: Int) -> Bool {
    guard index > 0, text[index].isUppercase else { return false }
    guard text[index - 1].isUppercase else { return true }
    return isSmall(text, index + 1) && !isPlural(text, index + 1)
  }

  /// Whether an `s` ends a word here: `userIDs`, `parseURLsFast`.
  private static func isPlural(_ text: [Character], _ index: Int) -> Bool {
    text[index] == "s" && !isSmall(text, index + 1)
  }

  private static func isSmall(_ text: [Character], _ index: Int) -> Bool {
    index < text.count && text[index].isLetter && !text[index].isUppercase
  }

  /// Whether `word` is at `index` and ends there like a word.
  private static func isWord(_ word: [Character], _ text: [Character], _ index: Int) -> Bool {
    guard let last = word.last, text[index...].starts(with: word) else { return false }
    let next = index + word.count
    if isSmall(text, next) { return false }
    let runsOn = last.isUppercase && next < text.count && text[next].isUppercase
    return !runsOn || isSmall(text, next + 1)
  }
}

extension NameWords {
  /// `user_id`
  var snakeCase: String {
    var name = ""
    var isAfterWord = false
    for piece in pieces {
      switch piece {
      case .word(let word):
        if isAfterWord { name.append("_") }
        name.append(word.lowercased())
        isAfterWord = true
      case .underscores(let count):
        name.append(String(repeating: "_", count: count))
        isAfterWord = false
      }
    }
    return name
  }

  /// `User Id`, and the kept words as they are written.
  func titleCase(keeping kept: [String]) -> String {
    pieces.compactMap { piece in
      guard case .word(let word) = piece else { return nil }
      return kept.contains(word) ? word : word.capitalizedFirst
    }.joined(separator: " ")
  }

  /// `userId`; underscores at the beginning and the end stay.
  var camelCase: String {
    var name = ""
    var isFirst = true
    for (index, piece) in pieces.enumerated() {
      switch piece {
      case .word(let word):
        name.append(isFirst ? word.lowercased() : word.capitalizedFirst)
        isFirst = false
      case .underscores(let count) where index == 0 || index == pieces.count - 1:
        name.append(String(repeating: "_", count: count))
      case .underscores: break
      }
    }
    return name
  }
}

extension String {
  /// The text with an uppercase first letter, if the uppercase form is a single letter. That of `ß` is `SS`, which is
  /// two.
  fileprivate var capitalizedFirst: String {
    let capital = prefix(1).uppercased()
    return (capital.count == 1 ? capital : String(prefix(1))) + dropFirst().lowercased()
  }
}

// TextPattern: a text in which * stands for any characters.

/// A text in which `*` stands for any characters.
package struct TextPattern: Hashable, Sendable {
  /// The bytes between the asterisks.
  private let pieces: [[UInt8]]

  package init(_ text: String) {
    pieces = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init)
  }

  /// Whether the pattern has no `*`.
  package var isPlain: Bool { pieces.count == 1 }

  /// The first piece must begin the text, and the last must end it. The pieces between are searched from front to back,
  /// each at the first place that fits, which leaves most for the next.
  package func matches(_ text: String) -> Bool {
    guard let first = pieces.first, let last = pieces.last else { return false }
    if isPlain { return text.utf8.elementsEqual(first) }
    guard text.utf8.count >= first.count + last.count, text.utf8.starts(with: first),
      text.utf8.suffix(last.count).elementsEqual(last)
    else { return false }
    var rest = Array(text.utf8.dropFirst(first.count).dropLast(last.count))[...]
    for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
      guard let place = rest.firstIndex(ofRun: piece) else { return false }
      rest = rest[(place + piece.count)...]
    }
    return true
  }
}

extension ArraySlice<UInt8> {
  /// Returns the place where these bytes first occur, one after another. Looks at each byte at most twice, whatever the
  /// bytes are: the search of Knuth, Morris and Pratt (1977).
  package func firstIndex(ofRun run: [UInt8]) -> Index? {
    guard let first = run.first else { return startIndex }
    guard var place = firstIndex(of: first) else { return nil }
    // For each prefix of the run, how long the longest of its proper ends is that the run begins with.
    var ends = [0]
    for byte in run.dropFirst() {
      var length = ends[ends.count - 1]
      while length > 0, run[length] != byte { length = ends[length - 1] }
      ends.append(run[length] == byte ? length + 1 : 0)
    }
    var matched = 0
    while place < endIndex {
      while matched > 0, run[matched] != self[place] { matched = ends[matched - 1] }
      if run[matched] == self[place] { matched += 1 }
      place += 1
      if matched == run.count { return place - matched }
    }
    return nil
  }
}

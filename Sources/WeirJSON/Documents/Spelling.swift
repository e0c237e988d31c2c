// Spelling: suggests the word that was probably meant.

import Weir

package enum Spelling {
  /// Returns a hint such as `; did you mean mandatory?`, or the list of all words if none is similar.
  package static func hint(_ word: String, among words: [String], alsoKnownAs others: [String: String] = [:]) -> String
  {
    if let meant = others[word], words.contains(meant) { return "; did you mean \(meant)?" }
    let near = words.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
    // A word is not similar if more than a third of its letters differ.
    if let (meant, distance) = near, distance <= max(1, meant.count / 3) { return "; did you mean \(meant)?" }
    return "; there are \(words.joined(separator: ", "))"
  }

  /// Returns the number of letters that must be changed, added or removed.
  private static func distance(_ word: String, _ other: String) -> Int {
    let left = Array(word.prefix(40).lowercased().utf8)
    let right = Array(other.utf8)
    var row = Array(0...right.count)
    for (index, letter) in left.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for (column, candidate) in right.enumerated() {
        let changed = diagonal + (letter == candidate ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(changed, row[column] + 1, diagonal + 1)
      }
    }
    return row[right.count]
  }
}

// Spelling: what somebody most likely meant.

import Weir

enum Spelling {
  /// A hint such as `; did you mean mandatory?`, or what there is if nothing is near.
  static func hint(_ word: String, among words: [String], alsoKnownAs others: [String: String] = [:]) -> String {
    if let meant = others[word], words.contains(meant) { return "; did you mean \(meant)?" }
    let near = words.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
    // A word of which more than a third is wrong is another word.
    if let (meant, distance) = near, distance <= max(1, meant.count / 3) { return "; did you mean \(meant)?" }
    return "; there are \(words.joined(separator: ", "))"
  }

  /// How many letters must be changed, added or left out.
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

// MarkdownText: a text of a log in a document in Markdown.

package enum MarkdownText {
  /// Returns the text so that it is shown as it is, in a cell or elsewhere on a line: a text of the log must make
  /// neither a column, nor a link, nor HTML.
  package static func escaped(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    var shown = String.UnicodeScalarView()
    for (index, scalar) in scalars.enumerated() {
      let before: Unicode.Scalar? = index > 0 ? scalars[index - 1] : nil
      let after: Unicode.Scalar? = index + 1 < scalars.count ? scalars[index + 1] : nil
      switch scalar {
      case "<": shown.append(contentsOf: "&lt;".unicodeScalars)
      case "&": shown.append(contentsOf: "&amp;".unicodeScalars)
      // An underscore within a word has no meaning, and names have many.
      case "_" where isOfWord(before) && isOfWord(after), "(" where before != "]": shown.append(scalar)
      case "\\", "`", "*", "|", "~", "_", "(":
        shown.append("\\")
        shown.append(scalar)
      default: shown.append(scalar)
      }
    }
    return String(shown)
  }

  private static func isOfWord(_ scalar: Unicode.Scalar?) -> Bool {
    guard let scalar else { return false }
    return scalar.properties.isAlphabetic || scalar.properties.numericType != nil
  }
}

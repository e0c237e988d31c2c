// Texts: shortens texts.

extension String {
  /// Returns as many whole characters as fit in `limit` bytes of UTF-8.
  package func cut(to limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var bytes = 0
    let kept = prefix { character in
      bytes += character.utf8.count
      return bytes <= limit
    }
    return String(kept)
  }
}

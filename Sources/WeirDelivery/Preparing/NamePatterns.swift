// NamePatterns: patterns of event names, in which * stands for any text.

/// Tells which names match one of some patterns.
struct NamePatterns: Sendable {
  private let names: Set<String>
  private let patterns: [TextPattern]

  init(_ patterns: [String]) {
    let all = patterns.map { (text: $0, pattern: TextPattern($0)) }
    names = Set(all.filter(\.pattern.isPlain).map(\.text))
    self.patterns = all.map(\.pattern).filter { !$0.isPlain }
  }

  func match(_ name: String) -> Bool { names.contains(name) || patterns.contains { $0.matches(name) } }
}

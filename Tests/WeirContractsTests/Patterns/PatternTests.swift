// Patterns: what is understood and what is refused, the same answers as Swift's engine, and an end to every match.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirJSON

struct PatternTests {
  private func matches(_ pattern: String, _ text: String) throws -> Bool {
    try Pattern(pattern).matches(text)
  }

  @Test(arguments: [
    ("abc", ["abc"], ["", "ab", "abcd", "xabc", "ABC"]),
    ("[A-Z0-9]{4,12}", ["ABCD", "A1B2C3", "ABCDEFGHIJKL"], ["ABC", "ABCDEFGHIJKLM", "abcd", "ABC-"]),
    ("a*", ["", "a", "aaaa"], ["b", "ab"]),
    ("a+b?", ["a", "ab", "aaab"], ["", "b", "abb"]),
    ("(ab|cd)*e", ["e", "abe", "cdabe"], ["ab", "abcd", "ae"]),
    ("(?:a|b){2}", ["ab", "ba", "aa"], ["a", "aba"]),
    ("a{0}b", ["b"], ["ab"]),
    ("a{2,}", ["aa", "aaaaa"], ["a", ""]),
    ("(a{2,}b){2}", ["aabaaab"], ["aab", "abaab"]),
    ("^abc$", ["abc"], ["abcabc"]),
    ("^a|b$", ["a", "b"], ["ab"]),
    ("a|", ["a", ""], ["aa"]),
    ("[^a-c]", ["d", "é", "\n"], ["a", "c", "dd", ""]),
    ("[-a]+[a-]", ["-a", "a-"], ["b"]),
    ("[\\]\\[]", ["]", "["], ["\\"]),
    (".", ["a", "é", "😀"], ["", "\n", "ab"]),
    ("\\d+\\.\\d\\d", ["19.90"], ["19,90", "19.9", "١٩.٩٠"]),
    ("\\w+", ["a_1Z"], ["é", "a b", ""]),
    ("\\s\\S\\D\\W", [" xa-", "\t1b."], ["aaaa"]),
    ("\\x41\\u00e9", ["Aé"], ["Ae\u{301}"]),
    ("é", ["é"], ["e\u{301}"]),
    ("e\u{301}?", ["e", "e\u{301}"], ["é"]),
    ("\\/\\-\\*\\\"", ["/-*\""], ["/"]),
    ("(a*)*", ["", "aaa"], ["b"]),
    ("((a?){3}){3}", ["", "aaaaaaaaa"], ["aaaaaaaaaa"]),
    ("(){1000}a", ["a"], [""]),
    ("((((((a{0}){1000}){1000}){1000}){1000}){1000}){1000}", [""], ["a"]),
  ])
  func `patterns match what they say, and nothing else`(_ pattern: String, _ good: [String], _ bad: [String]) throws {
    for text in good { #expect(try matches(pattern, text), "\(pattern) and \(text)") }
    for text in bad { #expect(try !matches(pattern, text), "\(pattern) and \(text)") }
  }

  /// More positions than a word has bits.
  @Test func `long patterns match`() throws {
    #expect(try matches("[a-z]{100,200}", String(repeating: "q", count: 150)))
    #expect(try !matches("[a-z]{100,200}", String(repeating: "q", count: 99)))
    #expect(try !matches("[a-z]{100,200}", String(repeating: "q", count: 201)))
    #expect(try matches("[a-zé]{100}x{100}", String(repeating: "é", count: 100) + String(repeating: "x", count: 100)))
    #expect(try matches("(a|b){256}", String(repeating: "ab", count: 128)))
  }

  @Test(arguments: [
    ("", "it is empty"), ("(a", "a ) is missing"), ("a)", "a ) without its ("), ("*a", "nothing before"),
    ("a**", "a quantifier after"), ("a*+", "possessive"), ("a{2}{3}", "a quantifier after"), ("[a", "a ] is missing"),
    ("[]", "[] holds nothing"), ("[b-a]", "wrong order"), ("[a-\\d]", "a range ends in one"), ("[[a]]", "a [ within"),
    ("[a&&b]", "&& within"), ("[a-c-e]", "a - that is not between"), ("a{3,2}", "wrong order"), ("a{,2}", "a number"),
    ("a{2", "a } is missing"), ("a{1001}", "counts go up to"), ("\\1", "not supported"), ("\\b", "not supported"),
    ("\\p{L}", "not supported"), ("(?=a)", "lookaround"), ("(?<n>a)", "lookaround"), ("(?i)a", "flags"),
    ("a^b", "^ is allowed only at the beginning"),
    ("a$b", "$ is allowed only at the end"), ("(^a)", "^ is allowed"), ("\\", "at the end"),
    ("\\xg0", "hexadecimal"), ("\\ud800", "no such character"), ("a}", "by itself"), ("a]", "by itself"),
    ("a{513}", "too long"), ("((a{30}){30}){30}", "too long"), (String(repeating: "(", count: 40) + "a", "nest"),
    (String(repeating: "a", count: 4097), "longer than 4096"),
  ])
  func `a pattern that can't be taken is refused with a reason`(_ pattern: String, _ reason: String) {
    #expect { try Pattern(pattern) } throws: { ("\($0)").contains(reason) }
  }

  /// Engines that try and go back take time for these that doubles with each character.
  @Test(arguments: ["(a+)+$", "(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*)*x", "((a?){30})*b", "([a-z]+.?)+#"])
  func `every match ends`(_ pattern: String) throws {
    #expect(try !matches(pattern, String(repeating: "a", count: Pattern.maximumTextBytes - 1) + "!"))
  }

  /// 2,000 characters that no range joins, at 500 positions: asked one by one of each, a text would take a minute.
  @Test func `sets of many characters at many positions match quickly`() throws {
    let scattered = (0..<2_000).compactMap { Unicode.Scalar(UInt32(0x4E00 + 3 * $0)) }
    let set = "[" + String(String.UnicodeScalarView(scattered)) + "]"
    func text(_ count: Int) -> String {
      String(String.UnicodeScalarView((0..<count).map { scattered[$0 * 7 % scattered.count] }))
    }
    let pattern = try Pattern(".*" + set + "{500}")
    #expect(pattern.positions == 501)
    #expect(pattern.matches(text(1_000)))
    #expect(pattern.matches(text(500)))
    #expect(!pattern.matches(text(499)))
    #expect(!pattern.matches(text(999) + "\u{4E01}"))
    #expect(!pattern.matches(text(999) + "a"))
    #expect(pattern.matches("é\u{4E01}a" + text(500)))
    let one = try Pattern(set)
    for value in UInt32(0x4DF0)..<UInt32(0x4E00 + 6_010) {
      let scalar = try #require(Unicode.Scalar(value))
      let isIn = value >= 0x4E00 && value < 0x4E00 + 6_000 && (value - 0x4E00) % 3 == 0
      #expect(one.matches(String(scalar)) == isIn, "\(value)")
    }
    #expect(try matches("[c-ea-bb-d]+", "abcde"))
    #expect(try !matches("[c-ea-bb-d]", "f"))
  }

  @Test func `texts over the limit do not match`() throws {
    #expect(try matches("a*", String(repeating: "a", count: Pattern.maximumTextBytes)))
    #expect(try !matches("a*", String(repeating: "a", count: Pattern.maximumTextBytes + 1)))
  }

  /// Foundation's engine errs where a group that may be empty is repeated without an end, and Swift's takes minutes, so
  /// here groups are repeated a few times only.
  @Test func `random patterns match what Foundation's engine matches`() throws {
    let seed = testSeed()
    print("PatternTests.Foundation: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    var matched = 0
    for _ in 0..<2_000 {
      let pattern = Self.pattern(depth: 2, endless: false, &random)
      guard let own = try? Pattern(pattern) else { continue }
      // There, \w is of all scripts.
      let other = try NSRegularExpression(
        pattern: "^(?:\(pattern.replacingOccurrences(of: "\\w", with: "[A-Za-z0-9_]")))$")
      for _ in 0..<8 {
        let text = Self.text(&random)
        let range = NSRange(location: 0, length: text.utf16.count)
        let expected = other.firstMatch(in: text, range: range) != nil
        if expected { matched += 1 }
        #expect(own.matches(text) == expected, "\(pattern) and \(text.debugDescription), WEIR_SEED=\(seed)")
      }
    }
    #expect(matched > 1_000, "of 16,000 texts enough must match for this to say something")
  }

  @Test func `random patterns match what the definition says`() throws {
    let seed = testSeed()
    print("PatternTests.definition: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    var matched = 0
    for _ in 0..<2_000 {
      let pattern = Self.pattern(depth: 3, endless: true, &random)
      guard let own = try? Pattern(pattern) else { continue }
      let tree = try PatternParser.parse(pattern)
      for _ in 0..<8 {
        let text = Self.text(&random)
        let scalars = text.unicodeScalars.map(\.value)
        let expected = Self.ends(of: tree, scalars[...]).contains(scalars.count)
        if expected { matched += 1 }
        #expect(own.matches(text) == expected, "\(pattern) and \(text.debugDescription), WEIR_SEED=\(seed)")
      }
    }
    #expect(matched > 1_000)
  }

  /// Where a match that begins at the slice's start may end: the meaning of a pattern, written down without a thought
  /// of time.
  private static func ends(of node: PatternNode, _ text: ArraySlice<UInt32>) -> Set<Int> {
    func after(_ starts: Set<Int>, _ node: PatternNode) -> Set<Int> {
      Set(starts.flatMap { ends(of: node, text[$0...]) })
    }
    let start: Set<Int> = [text.startIndex]
    switch node {
    case .empty: return start
    case .scalar(let set): return text.first.map(set.contains) == true ? [text.startIndex + 1] : []
    case .sequence(let parts): return parts.reduce(start) { after($0, $1) }
    case .choice(let parts): return parts.reduce([]) { $0.union(ends(of: $1, text)) }
    case .repetition(let inner, let min, let max):
      var reached = (0..<min).reduce(start) { reached, _ in after(reached, inner) }
      // Beyond as many times as there are characters, only empty matches can come, and they lead nowhere new.
      for _ in 0..<((max ?? (min + text.count)) - min) { reached.formUnion(after(reached, inner)) }
      return reached
    }
  }

  private static func text(_ random: inout Seeded) -> String {
    String((0..<Int.random(in: 0...6, using: &random)).map { _ in letter(&random) })
  }

  private static func letter(_ random: inout Seeded) -> Character { "abé1 ".randomElement(using: &random) ?? "a" }

  private static func pattern(depth: Int, endless: Bool, _ random: inout Seeded) -> String {
    let atoms = ["a", "b", "é", "1", ".", "[ab]", "[^a]", "\\d", "\\w", "\\S", "[a-bé]", " "]
    let quantifiers = ["", "", "", "?", "{2}", "{1,2}", "{0,3}", "*", "+", "{1,}", "*?"]
    var text = ""
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let isGroup = depth > 0 && Int.random(in: 0..<3, using: &random) == 0
      let group = isGroup ? "(\(pattern(depth: depth - 1, endless: endless, &random)))" : nil
      text += group ?? atoms.randomElement(using: &random) ?? ""
      text += quantifiers.prefix(isGroup && !endless ? 7 : 11).randomElement(using: &random) ?? ""
      if Int.random(in: 0..<6, using: &random) == 0 { text += "|" }
    }
    return text
  }
}

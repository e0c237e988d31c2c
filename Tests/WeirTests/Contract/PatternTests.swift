// Patterns: what is understood and what is refused, the same answers as Swift's engine, and an end to every match.

import Foundation
import Testing

@testable import Weir

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
  func `what matches and what does not`(_ pattern: String, _ good: [String], _ bad: [String]) throws {
    for text in good { #expect(try matches(pattern, text), "\(pattern) and \(text)") }
    for text in bad { #expect(try !matches(pattern, text), "\(pattern) and \(text)") }
  }

  /// More positions than a word has bits.
  @Test func `long patterns`() throws {
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
    ("\\p{L}", "not supported"), ("(?=a)", "looking around"), ("(?<n>a)", "looking around"), ("(?i)a", "flags"),
    ("a^b", "^ stands at the beginning"), ("a$b", "$ stands at the end"), ("(^a)", "^ stands"), ("\\", "at the end"),
    ("\\xg0", "hexadecimal"), ("\\ud800", "no such character"), ("a}", "by itself"), ("a]", "by itself"),
    ("a{513}", "too long"), ("((a{30}){30}){30}", "too long"), (String(repeating: "(", count: 40) + "a", "nest"),
    (String(repeating: "a", count: 4097), "longer than 4096"),
  ])
  func `what is refused, with a reason`(_ pattern: String, _ reason: String) {
    #expect { try Pattern(pattern) } throws: { ("\($0)").contains(reason) }
  }

  /// Engines that try and go back take time for these that doubles with each character.
  @Test(arguments: ["(a+)+$", "(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*)*x", "((a?){30})*b", "([a-z]+.?)+#"])
  func `every match ends`(_ pattern: String) throws {
    #expect(try !matches(pattern, String(repeating: "a", count: Pattern.maximumTextBytes - 1) + "!"))
  }

  @Test func `texts over the limit do not match`() throws {
    #expect(try matches("a*", String(repeating: "a", count: Pattern.maximumTextBytes)))
    #expect(try !matches("a*", String(repeating: "a", count: Pattern.maximumTextBytes + 1)))
  }

  /// Swift's own engine would be another oracle, but of these short texts it takes minutes for some.
  @Test func `random patterns match what Foundation's engine matches`() throws {
    let seed = testSeed()
    print("PatternTests.random: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    var matched = 0
    for _ in 0..<2_000 {
      let pattern = Self.pattern(depth: 2, &random)
      guard let own = try? Pattern(pattern) else { continue }
      // There, \w is of all scripts.
      let other = try NSRegularExpression(
        pattern: "^(?:\(pattern.replacingOccurrences(of: "\\w", with: "[A-Za-z0-9_]")))$")
      for _ in 0..<8 {
        let text = String((0..<Int.random(in: 0...6, using: &random)).map { _ in Self.letter(&random) })
        let range = NSRange(location: 0, length: text.utf16.count)
        let expected = other.firstMatch(in: text, range: range) != nil
        if expected { matched += 1 }
        #expect(own.matches(text) == expected, "\(pattern) and \(text.debugDescription), WEIR_SEED=\(seed)")
      }
    }
    #expect(matched > 1_000, "of 16,000 texts enough must match for this to say something")
  }

  private static func letter(_ random: inout Seeded) -> Character { "abé1 ".randomElement(using: &random) ?? "a" }

  private static func pattern(depth: Int, _ random: inout Seeded) -> String {
    let atoms = ["a", "b", "é", "1", ".", "[ab]", "[^a]", "\\d", "\\w", "\\S", "[a-bé]", " "]
    var text = ""
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let isGroup = depth > 0 && Int.random(in: 0..<3, using: &random) == 0
      text += isGroup ? "(\(pattern(depth: depth - 1, &random)))" : atoms.randomElement(using: &random)!
      let quantifiers = ["", "", "", "?", "{2}", "{1,2}", "{0,3}", "*", "+", "{1,}", "*?"]
      text += quantifiers.randomElement(using: &random)!
      if Int.random(in: 0..<6, using: &random) == 0 { text += "|" }
    }
    return text
  }
}

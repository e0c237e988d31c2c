// ShownText: what a terminal gets of texts from a log.

#if Monitor
  import Foundation
  import TestSupport
  import Testing

  @testable import WeirMonitor

  @Suite struct ShownTextTests {
    init() { setlocale(LC_ALL, "C.UTF-8") }

    @Test(arguments: [
      ("plain", "plain"), ("a\u{1b}[2J", "a␛[2J"), ("\0\u{7}\n", "␀␇␊"), ("\u{9b}31m", "⟨9B⟩31m"), ("\u{7f}", "⟨7F⟩"),
      ("\u{202e}txt.exe", "⟨202E⟩txt.exe"), ("a\u{200d}b\u{feff}", "a⟨200D⟩b⟨FEFF⟩"), ("Grüße 漢字", "Grüße 漢字"),
    ])
    func `what could be obeyed is shown`(_ text: String, _ shown: String) {
      #expect(ShownText.shown(text) == shown)
    }

    @Test func `texts take their columns exactly`() {
      #expect(ShownText.width(of: "漢字a") == 5)
      #expect(ShownText.fitted("abc", to: 5) == "abc  ")
      #expect(ShownText.fitted("abcdef", to: 5) == "abcd…")
      // A wide character is not cut in half.
      #expect(ShownText.fitted("漢字漢字", to: 4) == "漢… ")
      #expect(ShownText.fitted("abc", to: 0) == "")
      #expect(ShownText.wrapped("abcde", to: 2) == ["ab", "cd", "e"])
      #expect(ShownText.wrapped("漢字", to: 3) == ["漢", "字"])
    }

    @Test func `any text is safe, and as wide as it says`() {
      let seed = testSeed()
      print("ShownTextTests: WEIR_SEED=\(seed)")
      var random = Seeded(seed: seed)
      for _ in 0..<2_000 {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0..<20, using: &random) {
          if let scalar = Unicode.Scalar(UInt32.random(in: 0..<0x3000, using: &random)) { text.append(scalar) }
        }
        let shown = ShownText.shown(String(text))
        #expect(!shown.unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) })
        let columns = Int.random(in: 1..<30, using: &random)
        #expect(ShownText.width(of: ShownText.fitted(shown, to: columns)) == columns, "seed \(seed)")
      }
    }
  }
#endif

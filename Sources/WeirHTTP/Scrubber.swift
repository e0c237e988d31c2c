// Scrubber: removes secrets from texts of servers and of the system, so that they can be shown.

#if HTTP
  import WeirDelivery
  import Weir

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Replaces secrets and control characters, and limits the length, in texts for errors, reports and the journey.
  ///
  /// A server may repeat the key that it refuses, in another form than the one that was sent. A proxy's page may
  /// contain the request as an address, or the header that it expected.
  struct Scrubber: Sendable {
    /// The maximum length of a text, in characters.
    static let longest = 500
    /// The minimum length of a secret that is replaced: a key of three letters would match everywhere.
    static let shortest = 4

    private let secrets: [Secret]

    init(_ secrets: [Secret]) {
      let shown = secrets.filter { $0.withValue { $0.utf8.count >= Self.shortest } }
      // Longer secrets first, because a secret may be a part of another.
      self.secrets = Set(shown.flatMap(Self.forms(of:)))
        .sorted { $0.withValue { $0.utf8.count } > $1.withValue { $0.utf8.count } }
    }

    /// Returns the forms of a secret: as it is, as texts of JSON and of web pages have it, percent-encoded as programs
    /// do, and in base64, both alone and as the user of a basic authorization without a password.
    private static func forms(of secret: Secret) -> [Secret] {
      secret.withValue { text in
        var forms = [text] + escapedForms(of: text)
        for kept in ["-._~", "-._~/", "-._~!'()*"] {
          forms.append(percentEncoded(text, keeping: kept, uppercase: true))
          forms.append(percentEncoded(text, keeping: kept, uppercase: false))
        }
        for content in [text, text + ":"] {
          let standard = Data(content.utf8).base64EncodedString()
          let forAddresses = standard.replacing("+", with: "-").replacing("/", with: "_")
          // Without the trailing padding, which some programs omit.
          for form in [standard, forAddresses] { forms.append(String(form.prefix { $0 != "=" })) }
        }
        return forms.map { Secret($0) }
      }
    }

    /// Returns the forms of a text in JSON and in HTML. Some programs escape more than they must.
    private static func escapedForms(of text: String) -> [String] {
      func replacing(_ text: String, _ escapes: [(String, String)]) -> String {
        escapes.reduce(text) { $0.replacing($1.0, with: $1.1) }
      }
      let json = replacing(text, [("\\", "\\\\"), ("\"", "\\\"")])
      let signs = [("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e")]
      let html = replacing(text, [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")])
      return [
        json, json.replacing("/", with: "\\/"), replacing(json, signs), replacing(json, signs + [("'", "\\u0027")]),
        html, replacing(html, [("\"", "&quot;"), ("'", "&#39;")]), replacing(html, [("\"", "&#34;"), ("'", "&#39;")]),
        replacing(html, [("\"", "&quot;"), ("'", "&#x27;")]), replacing(html, [("\"", "&quot;"), ("'", "&#039;")]),
      ]
    }

    private static func percentEncoded(_ text: String, keeping kept: String, uppercase: Bool) -> String {
      var encoded = ""
      for byte in text.utf8 {
        let character = Character(Unicode.Scalar(byte))
        let isKept = character.isLetter || character.isNumber || kept.contains(character)
        if byte < 0x80 && isKept {
          encoded.append(character)
        } else {
          let digits = String(byte, radix: 16, uppercase: uppercase)
          encoded += byte < 0x10 ? "%0\(digits)" : "%\(digits)"
        }
      }
      return encoded
    }

    /// Returns the text without secrets, on one line, with at most ``longest`` characters.
    func clean(_ text: String) -> String {
      // Text beyond this limit is never shown, so it is not searched. A secret that crosses the limit is cut off
      // with it.
      var clean = String(text.prefix(64 << 10))
      for secret in secrets {
        secret.withValue { clean = clean.replacing($0, with: Secret("").description) }
      }
      var line = String.UnicodeScalarView()
      var isSpace = false
      for scalar in clean.unicodeScalars {
        let isBlank = scalar.properties.isWhitespace || scalar.properties.generalCategory.isControl
        if isBlank && isSpace { continue }
        line.append(isBlank ? " " : scalar)
        isSpace = isBlank
      }
      let shown = String(line)
      return shown.count <= Self.longest ? shown : shown.prefix(Self.longest - 1) + "…"
    }

    func clean(_ verdict: Verdict) -> Verdict {
      guard case .rejected(let reason) = verdict else { return verdict }
      let text = clean(reason)
      return .rejected(text.isEmpty ? "rejected without a reason" : text)
    }

    /// Returns the error with a clean text. Other kinds of errors become failures, because their texts are unknown.
    func clean(_ error: any Error) -> any Error {
      switch error {
      case let error as BatchRefused: BatchRefused(clean(error.reason))
      case let error as DeliveryStopped: DeliveryStopped(clean(error.reason))
      case let error as HTTPFailure: HTTPFailure(clean(error.reason))
      case is CancellationError: error
      default: HTTPFailure(clean("\(error)"))
      }
    }
  }

  extension Unicode.GeneralCategory {
    /// Whether the character is a control, changes the writing direction, or is unassigned.
    fileprivate var isControl: Bool {
      switch self {
      case .control, .format, .surrogate, .unassigned, .lineSeparator, .paragraphSeparator: true
      default: false
      }
    }
  }
#endif

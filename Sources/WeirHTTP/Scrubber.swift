// Scrubber: makes what a server or the system said fit to be shown.

#if HTTP
  import WeirDelivery
  import Weir

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Replaces secrets, controls and whatever is beyond a length in texts that go into errors, reports and the journey.
  ///
  /// A server may well echo the key that it does not accept, in another form than it was sent in: a proxy's page has the
  /// request as an address, or as the header that it would have liked.
  struct Scrubber: Sendable {
    /// The longest text that is shown, in characters.
    static let longest = 500
    /// The shortest secret that is looked for: a key of three letters would be found everywhere.
    static let shortest = 4

    private let secrets: [Secret]

    init(_ secrets: [Secret]) {
      let shown = secrets.filter { $0.withValue { $0.utf8.count >= Self.shortest } }
      // Longer ones first: one may be a part of another.
      self.secrets = Set(shown.flatMap(Self.forms(of:)))
        .sorted { $0.withValue { $0.utf8.count } > $1.withValue { $0.utf8.count } }
    }

    /// The secret as it is, percent-encoded as programs do, and in base64: alone, and as the user of a basic
    /// authorization without a password.
    private static func forms(of secret: Secret) -> [Secret] {
      secret.withValue { text in
        var forms = [text]
        for kept in ["-._~", "-._~/", "-._~!'()*"] {
          forms.append(percentEncoded(text, keeping: kept, uppercase: true))
          forms.append(percentEncoded(text, keeping: kept, uppercase: false))
        }
        for content in [text, text + ":"] {
          let standard = Data(content.utf8).base64EncodedString()
          let forAddresses = standard.replacing("+", with: "-").replacing("/", with: "_")
          // Without the padding at its end, which some leave out.
          for form in [standard, forAddresses] { forms.append(String(form.prefix { $0 != "=" })) }
        }
        return forms.map { Secret($0) }
      }
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

    /// The text without secrets, on one line, with at most ``longest`` characters.
    func clean(_ text: String) -> String {
      // Beyond this no text can show, so no more is looked through; a secret at the end of it is cut off with it.
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

    /// The error with a clean text. Errors of other kinds become failures: what they say is not known.
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
    /// Controls, and what changes the direction of a text or is no character.
    fileprivate var isControl: Bool {
      switch self {
      case .control, .format, .surrogate, .unassigned, .lineSeparator, .paragraphSeparator: true
      default: false
      }
    }
  }
#endif

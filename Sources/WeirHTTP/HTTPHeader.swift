// HTTPHeader: a header of a request, whose value is never shown.

#if HTTP
  public import WeirDelivery

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// A header of a request. The value is a `Secret`, because headers contain keys.
  public struct HTTPHeader: Hashable, Sendable, CustomStringConvertible {
    /// The header's name, in any case.
    public var name: String

    /// The header's value.
    public var value: Secret

    /// Whether the value is replaced in everything that a server says.
    var isConfidential: Bool

    /// Creates a header whose value contains no key.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = Secret(value)
      isConfidential = false
    }

    /// Creates a header whose value is a key, or contains one.
    public init(_ name: String, secret: Secret) {
      self.name = name
      value = secret
      isConfidential = true
    }

    /// The texts that must not be shown: the value, and its part after the scheme's name.
    var secrets: [Secret] {
      value.withValue { text in
        [value] + text.split(separator: " ", maxSplits: 1).dropFirst().map { Secret(String($0)) }
      }
    }

    /// Whether a request can carry the header. A line break would end the header, and the rest would be read as another
    /// header.
    var isSendable: Bool {
      let isName = !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ":") }
      return isName && value.withValue { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == UInt8(ascii: "\t") } }
    }

    /// The header's name only.
    public var description: String { name }

    /// `content-type`.
    public static func content(_ type: String) -> HTTPHeader { HTTPHeader("content-type", type) }

    /// `content-type: application/json`.
    public static var json: HTTPHeader { .content("application/json") }

    /// `authorization: Bearer …`.
    public static func bearer(_ token: Secret) -> HTTPHeader {
      HTTPHeader("authorization", secret: token.withValue { Secret("Bearer \($0)") })
    }

    /// `authorization: Basic …`.
    public static func basic(user: String, password: Secret) -> HTTPHeader {
      let pair = password.withValue { Data("\(user):\($0)".utf8).base64EncodedString() }
      return HTTPHeader("authorization", secret: Secret("Basic \(pair)"))
    }
  }
#endif

// MonitorPage: the HTML page, and the headers of every answer.

#if Monitor
  import Crypto
  import Foundation
  import HTTPTypes

  /// The page that a browser gets. It lies in the program: there is no file to find at run time.
  struct MonitorPage: Sendable {
    private let text: String
    /// What the page may do: run its own script and style, which are known by their hashes, and ask this server.
    let policy: String

    init() {
      text = String(decoding: PackageResources.monitor_html, as: UTF8.self)
      policy = Self.policy(of: text)
    }

    /// The page, with links to others.
    func bytes(linkingTo pages: [LinkedPage]) -> [UInt8] {
      let links = pages.map { #"<a id="\#($0.name)" href="/\#($0.name)">\#($0.name.capitalized)</a>"# }
      return Array(text.replacing("<!--pages-->", with: links.joined(separator: "\n      "), maxReplacements: 1).utf8)
    }

    /// What a page may do, for its own script and style.
    static func policy(of page: String) -> String {
      """
      default-src 'none'; script-src '\(hash(of: "script", in: page))'; style-src '\(hash(of: "style", in: page))'; \
      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
      """
    }

    /// The hash of what an element of the page contains.
    private static func hash(of element: String, in page: String) -> String {
      guard let start = page.range(of: "<\(element)>"), let end = page.range(of: "</\(element)>") else { return "none" }
      let digest = SHA256.hash(data: Data(page[start.upperBound..<end.lowerBound].utf8))
      return "sha256-" + Data(digest).base64EncodedString()
    }

    /// The headers of every answer, but for what a linked page may do.
    var headers: HTTPFields {
      var headers = HTTPFields()
      headers[.contentSecurityPolicy] = policy
      headers[.xContentTypeOptions] = "nosniff"
      headers[HTTPField.Name("Referrer-Policy")!] = "no-referrer"
      headers[HTTPField.Name("Cross-Origin-Resource-Policy")!] = "same-origin"
      headers[HTTPField.Name("Cross-Origin-Opener-Policy")!] = "same-origin"
      headers[.cacheControl] = "no-store"
      return headers
    }
  }
#endif

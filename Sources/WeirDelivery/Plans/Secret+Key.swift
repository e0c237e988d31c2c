// Secret+Key: reads a key from where a plan says that the key is.

package import Weir

extension Secret {
  /// The maximum length of a key, in bytes. A longer text is not a key but a wrong file.
  package static let maximumBytes = 16 << 10

  /// Reads a key. No error contains the key.
  package init(at key: DeliveryPlan.Destination.Key) throws(WeirError) {
    let (text, place) = try Self.text(at: key)
    let secret = Secret(text)
    guard !secret.isEmpty else {
      throw WeirError(.invalid, "\(place) contains no key; put the provider's key there")
    }
    // A line break would end the header, and the text after it would be read as another header.
    guard secret.withValue({ $0.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value < 0x7F } }) else {
      throw WeirError(
        .invalid, "\(place) contains white space or control characters in the key; put only the key there")
    }
    self = secret
  }

  private static func text(at key: DeliveryPlan.Destination.Key) throws(WeirError) -> (String, place: String) {
    switch key {
    case .environment(let name):
      guard let text = Environment.value(of: name) else {
        throw WeirError(
          .invalid, "the environment has no variable \(name); set the variable, or name a file that contains the key")
      }
      return (text, "the variable \(name)")
    case .file(let path):
      let bytes = try SystemCalls().contents(of: path, atMost: maximumBytes + 1)
      guard bytes.count <= maximumBytes, let text = String(validating: bytes, as: UTF8.self) else {
        throw WeirError(.invalid, "\(path) is not a key; name a file that contains only the key", path: path)
      }
      return (text, path)
    }
  }
}

// Secret: a key that is never shown by accident.

/// A key, password or token.
///
/// Printed, interpolated, dumped or logged, a secret reads `[secret]`. ``withValue(_:)`` returns the value, for use
/// in a header or a body.
///
/// ```swift
/// guard let key = Secret(environment: "SEGMENT_WRITE_KEY") else { … }
/// let preset = SegmentPreset(writeKey: key)
/// ```
public struct Secret: Hashable, Sendable {
  private let value: String

  /// Creates a secret. Surrounding white space, which is easily copied along with a key, is removed.
  public init(_ value: String) {
    var rest = Substring(value)
    while rest.first?.isWhitespace == true { rest.removeFirst() }
    while rest.last?.isWhitespace == true { rest.removeLast() }
    self.value = String(rest)
  }

  /// Creates a secret from an environment variable. Returns `nil` if the variable is unset or empty.
  public init?(environment name: String) {
    guard let text = Environment.value(of: name) else { return nil }
    self.init(text)
    if value.isEmpty { return nil }
  }

  /// Whether the value is empty.
  public var isEmpty: Bool { value.isEmpty }

  /// Calls `body` with the value. The value must only be used in a request.
  public func withValue<Result>(_ body: (String) throws -> Result) rethrows -> Result {
    try body(value)
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "[secret]" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

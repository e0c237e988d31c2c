// Secret: a key that never shows in a text by accident.

#if HTTP
  /// A key, password or token.
  ///
  /// However it is printed, interpolated, dumped or logged, it reads `[secret]`. ``withValue(_:)`` gives the value, for
  /// the header or body that it belongs in.
  ///
  /// ```swift
  /// guard let key = Secret(environment: "SEGMENT_WRITE_KEY") else { … }
  /// let preset = SegmentPreset(writeKey: key)
  /// ```
  public struct Secret: Hashable, Sendable {
    private let value: String

    /// A secret of this value. White space around it, which is easily copied along with a key, is left out.
    public init(_ value: String) {
      var rest = Substring(value)
      while rest.first?.isWhitespace == true { rest.removeFirst() }
      while rest.last?.isWhitespace == true { rest.removeLast() }
      self.value = String(rest)
    }

    /// The value of an environment variable; nil if it is not set, or empty.
    public init?(environment name: String) {
      guard let text = Environment.value(of: name) else { return nil }
      self.init(text)
      if value.isEmpty { return nil }
    }

    /// Whether there is nothing in it.
    public var isEmpty: Bool { value.isEmpty }

    /// Calls `body` with the value, which must go nowhere but into a request.
    public func withValue<Result>(_ body: (String) throws -> Result) rethrows -> Result {
      try body(value)
    }
  }

  extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "[secret]" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
  }
#endif

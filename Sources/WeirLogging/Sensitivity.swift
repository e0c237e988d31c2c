// Sensitivity: the attribute of metadata values that must not leave the process as they are.

public import Logging

/// Whether a metadata value may leave the process as it is.
///
/// ```swift
/// logger.info("signed in", metadata: ["mail": "\(mail, sensitivity: .sensitive)", "attempts": "\(attempts)"])
/// ```
///
/// A sensitive value is stored in the log, and replaced with `[redacted]` in everything that shows or sends the line,
/// as a field with ``/Weir/Field/isSensitive`` is. Log handlers that don't know the attribute write the value as it is.
public enum Sensitivity: Int64, Logger.MetadataValueAttributes.Attribute {
  /// Must not leave the process as it is.
  case sensitive = 1
}

extension Logger.MetadataValue.StringInterpolation {
  /// Appends a value, and marks the whole metadata value. If one part of a metadata value is sensitive, the whole is.
  public mutating func appendInterpolation<Value: CustomStringConvertible & Sendable>(
    _ value: Value, sensitivity: Sensitivity
  ) {
    appendInterpolation(value, attributes: { $0[Sensitivity.self] = sensitivity })
  }
}

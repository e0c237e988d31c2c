// InspectorConfiguration: the options of an inspection.

public import Logging
import Weir

extension Inspector {
  /// The options of an inspection.
  public struct Configuration: Sendable {
    /// The minimum of ``logBytes``: 8 MiB.
    public static let leastLogBytes = 8 << 20

    /// The maximum size of the log of violations, in bytes. The oldest violations are removed. Default 64 MiB; at least
    /// ``leastLogBytes``.
    ///
    /// The log of violations is created at the first violation, in the directory `violations`. Its size does not count
    /// towards `Tracker.Configuration.byteLimit`.
    public var logBytes = 64 << 20

    /// The time for which `Tracker.close()` waits for the inspection; it may wait a second longer. The next opening
    /// inspects the remaining events. Default 5 s.
    public var closingTime = Duration.seconds(5)

    /// The logger for errors of the inspection. Each kind of error is logged once. `nil` logs nothing.
    ///
    /// Without an observer, violations are logged too, as warnings with event, field, rule, id, offset and view, but
    /// without the value. At most 10 violations are logged within a minute. The number of violations that were not
    /// logged is part of the next warning, or of a last warning at the end.
    public var logger: Logger? = Logger(label: "weir.inspection")

    /// Creates a configuration with the default values.
    public init() {}

    func checked() throws(WeirError) -> Configuration {
      guard logBytes >= Self.leastLogBytes else {
        throw WeirError(.invalid, "logBytes is \(logBytes); it must be at least \(Self.leastLogBytes)")
      }
      return self
    }
  }
}

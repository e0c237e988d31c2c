// InspectorConfiguration: how an inspector checks events.

public import Logging
import Weir

extension Inspector {
  /// How events are checked against a contract.
  public struct Configuration: Sendable {
    /// The least ``logBytes``: 8 MiB.
    public static let leastLogBytes = 8 << 20

    /// What the log of violations may take on the disk: the oldest make room. Default 64 MiB; at least
    /// ``leastLogBytes``.
    ///
    /// The log of violations is made at the first violation, in `violations`. Its bytes are not among those of
    /// ``Tracker/Configuration/byteLimit``.
    public var logBytes = 64 << 20

    /// How long ``Tracker/close()`` waits for the inspection of what is in the log: at most that and a second more.
    /// What is not inspected by then is inspected at the next opening. Default 5 s.
    public var closingTime = Duration.seconds(5)

    /// Where trouble with the inspection is reported, each kind once; `nil` reports nothing.
    public var logger: Logger? = Logger(label: "weir.inspection")

    /// The defaults, which suit most programs.
    public init() {}

    func checked() throws(WeirError) -> Configuration {
      guard logBytes >= Self.leastLogBytes else {
        throw WeirError(.invalid, "logBytes is \(logBytes); it must be at least \(Self.leastLogBytes)")
      }
      return self
    }
  }
}

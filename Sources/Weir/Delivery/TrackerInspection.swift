// A tracker's contract: what an application sees of the inspection of its events.

extension Tracker {
  /// How events are held against ``Configuration/contract``.
  public struct Inspection: Hashable, Sendable {
    /// The least ``logBytes``.
    public static let leastLogBytes = 8 << 20

    /// What the log of violations may take on the disk: the oldest make room. 64 MiB; at least ``leastLogBytes``.
    ///
    /// It is a log of its own, in `violations`, opened at the first violation, and not among the bytes of
    /// ``Configuration/byteLimit``.
    public var logBytes: Int

    /// How long ``Tracker/close()`` waits for the inspection of what is in the log: at most that and a second more.
    /// What is not inspected by then is inspected at the next opening. 5 s.
    public var closingTime: Duration

    /// An inspection; the defaults suit most programs.
    public init(logBytes: Int = 64 << 20, closingTime: Duration = .seconds(5)) {
      self.logBytes = logBytes
      self.closingTime = closingTime
    }
  }

  /// What was found in holding events against ``Configuration/contract``; all zeros without one.
  ///
  /// Never waits. Behind the captures by milliseconds, by a second at most after a quiet time, by more if there are
  /// more than the inspector keeps up with, which is some hundred thousand a second; ``inspect(timeout:)`` waits for
  /// them.
  public var violations: ViolationCounts { inspector?.counts ?? ViolationCounts() }

  /// Waits until everything captured before the call is held against ``Configuration/contract``; answers what was found
  /// so far.
  ///
  /// Without a contract it answers zeros at once. Throws `timeout`, `closed` (the tracker is, and the inspection ended
  /// before it came so far), and what ``drain(timeout:)`` throws.
  ///
  /// Not to be called from ``Configuration/onViolation``, whose return it would wait for.
  @discardableResult
  public func inspect(timeout: Duration? = nil) throws(WeirError) -> ViolationCounts {
    guard let inspector else { return ViolationCounts() }
    let deadline = timeout.map { MonotonicTime.now.after($0) } ?? MonotonicTime(nanoseconds: .max)
    return try inspector.inspect(upTo: try endOfLog(timeout), until: deadline)
  }

  /// The offset after what was captured before the call; a closed log has drained all that it could.
  private func endOfLog(_ timeout: Duration?) throws(WeirError) -> Offset {
    do throws(WeirError) {
      return try drain(timeout: timeout)
    } catch {
      guard error.code == .closed else { throw error }
      return counters.nextOffset
    }
  }

  /// What an inspection is to do; nil without a contract. Throws `invalid` for a contract that makes no sense.
  static func orders(_ configuration: Configuration) throws(WeirError) -> Inspector.Orders? {
    guard let contract = configuration.contract else { return nil }
    guard configuration.inspection.logBytes >= Inspection.leastLogBytes else {
      throw WeirError(
        .invalid,
        "inspection.logBytes is \(configuration.inspection.logBytes); it must be at least \(Inspection.leastLogBytes)")
    }
    do throws(ContractError) {
      return Inspector.Orders(
        contract: try contract.compiled(), observer: configuration.onViolation, inspection: configuration.inspection,
        logger: configuration.logger)
    } catch {
      throw WeirError(.invalid, "the contract \(contract.name) makes no sense: \(error)")
    }
  }
}

// Control: what another SDK was given, beside the log, to hold the log against afterwards.

public import Weir

/// Records what another SDK is given, and what that SDK did with each event, into a log of its own.
///
/// While two SDKs run beside each other, pass the same events to the control:
///
/// ```swift
/// let control = try Control(directory: "/var/lib/shop/control")
/// let receipt = tracker.track("checkout.completed", fields: fields)
/// oldSDK.track("checkout.completed", fields) { answer in
///   control.record("checkout.completed", fields: fields, id: receipt, outcome: answer.isOK ? nil : answer.reason)
/// }
/// ```
///
/// `weir reconcile events --against control` compares the two logs, event by event, and says why each difference is
/// there.
///
/// **Crash.** A recorded event survives `kill -9`, as every captured event does.
///
/// **Threads.** Any thread may call any member. Recording costs what `track` of a tracker costs.
public final class Control: Sendable {
  private let tracker: Tracker

  /// Opens the control's log, which is made if it does not exist. Throws what the opening of a tracker throws: `locked`
  /// if another process records into the log.
  public init(directory: String, configuration: Tracker.Configuration = .init()) throws(WeirError) {
    tracker = try Tracker(directory: directory, configuration: configuration)
  }

  /// Records an event as the other SDK was given it.
  ///
  /// The view that is bound is recorded too.
  ///
  /// - Parameters:
  ///   - name: the event's name there.
  ///   - fields: the event's fields there. The names `weir_id` and `weir_outcome` are the control's own.
  ///   - id: the receipt of the same event's capture, by which the two match for certain; `nil` to match by content.
  ///   - user: the event's user there; `nil` for the user that is bound. A tracker's default user is not the control's:
  ///     pass `tracker.user?.id`.
  ///   - outcome: why the other SDK did not pass the event on, such as `sampled` or `400`; `nil` if it did.
  /// - Returns: the receipt of the record. A refused record is counted in the control's log.
  @discardableResult
  public func record(
    _ name: String, fields: FieldObject, id: Receipt? = nil, user: String? = nil, outcome: String? = nil
  ) -> Receipt {
    record(name, fields, id?.id, user, outcome)
  }

  @discardableResult
  func record(_ name: String, _ fields: FieldObject, _ id: EventID?, _ user: String?, _ outcome: String?) -> Receipt {
    var members = fields.map { ($0.name, $0.value) }
    if let id { members.append((ComparedEvent.idField, .string(id.description))) }
    if let outcome { members.append((ComparedEvent.outcomeField, .string(outcome))) }
    let recorded = FieldObject(members)
    guard let user else { return tracker.track(name, fields: recorded) }
    return Bindings.with(user: user) { tracker.track(name, fields: recorded) }
  }

  /// Closes the log. Throws what the close of a tracker throws.
  public func close() throws(WeirError) { try tracker.close() }
}

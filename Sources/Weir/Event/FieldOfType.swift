// Field(_:of:): a field declared by the type of its values.

extension Field {
  /// Declares a field that holds values of a type, whose ``EventValue/fieldKind`` is its kind.
  ///
  /// ```swift
  /// static let eventTypes = [
  ///   EventType("checkout.completed", [Field("order", of: UInt64.self), Field("coupon", of: String?.self)])
  /// ]
  /// ```
  public init<Value: EventValue>(
    _ name: String, of type: Value.Type, sensitive: Bool = false, formerNames: [String] = []
  ) {
    self.init(name, type.fieldKind, sensitive: sensitive, formerNames: formerNames)
  }
}

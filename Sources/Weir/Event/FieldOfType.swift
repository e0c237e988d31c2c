// Field(_:of:): a field declared by the type of its values.

extension Field {
  /// Creates a field for values of a type. The field's kind is the type's ``EventValue/fieldKind``.
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

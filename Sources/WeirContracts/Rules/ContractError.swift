// ContractError: all problems of a contract at once.

import Weir

/// The error of an invalid contract, or of a damaged file of ``ContractApprovals``. Lists all problems, each with its
/// place.
public struct ContractError: Error, Hashable, Sendable {
  /// One problem of a contract.
  public struct Problem: Hashable, Sendable {
    /// The event's name; empty if the problem is about the whole contract.
    public var event: String

    /// The field's path, or empty.
    public var field: String

    /// The line of the file, counted from 1; `nil` for a contract that is not from a file.
    public var line: Int?

    /// The problem, and what to do.
    public var message: String

    /// Creates a problem.
    public init(event: String = "", field: String = "", line: Int? = nil, message: String) {
      self.event = event
      self.field = field
      self.line = line
      self.message = message
    }
  }

  /// The maximum number of problems that are listed.
  public static let maximumProblems = 100

  /// The problems, in the contract's order. At least one, at most ``maximumProblems``.
  public let problems: [Problem]

  /// Creates an error with the first ``maximumProblems`` of these problems.
  public init(_ problems: [Problem]) {
    self.problems = Array(problems.prefix(Self.maximumProblems))
  }
}

extension ContractError.Problem: CustomStringConvertible {
  /// One line: `line 7: checkout.completed: currency: the default "GBP" violates one of "EUR", "USD"`.
  public var description: String {
    [line.map { "line \($0)" } ?? "", event, field, message].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}

extension ContractError: CustomStringConvertible {
  /// One line for each problem.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

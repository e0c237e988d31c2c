// ContractError: everything that is wrong with a contract, at once.

import Weir

/// Why a contract is refused: everything that is wrong with it, each with its place.
public struct ContractError: Error, Hashable, Sendable {
  /// One thing that is wrong.
  public struct Problem: Hashable, Sendable {
    /// The event's name, or empty if it is about the contract as a whole.
    public var event: String

    /// The field's path, or empty.
    public var field: String

    /// The line of the file, from 1; nil for a contract that is not from a file.
    public var line: Int?

    /// What is wrong and what to do.
    public var message: String

    /// Something that is wrong.
    public init(event: String = "", field: String = "", line: Int? = nil, message: String) {
      self.event = event
      self.field = field
      self.line = line
      self.message = message
    }
  }

  /// How many problems are listed at most; more of them are of no use to anybody.
  public static let maximumProblems = 100

  /// What is wrong, in the order of the contract. At least one, at most ``maximumProblems``.
  public let problems: [Problem]

  /// An error of these problems, the first ``maximumProblems`` of them.
  public init(_ problems: [Problem]) {
    self.problems = Array(problems.prefix(Self.maximumProblems))
  }
}

extension ContractError.Problem: CustomStringConvertible {
  /// One line: `line 7: checkout.completed: currency: the default "GBP" is not among the allowed values`.
  public var description: String {
    [line.map { "line \($0)" } ?? "", event, field, message].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}

extension ContractError: CustomStringConvertible {
  /// A line for each problem.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

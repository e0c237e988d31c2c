// JoinPointListing: which join points there are, and who listens.

import Weir

/// The join points of the process and their hooks, as they were when it was made: for tests that hold a program to its
/// tracking plan, and for finding out why nothing, or too much, is heard.
///
/// ```swift
/// print(JoinPointListing())
/// // ItemPage.like(_:)   Shop/ItemPage.swift:12
/// //   after, one ItemPage   Shop/ItemTracking.swift:9
///
/// let unheard = JoinPointListing().joinPoints.filter(\.hooks.isEmpty)
/// ```
///
/// It has every join point that a macro declares in the executable, and what is linked statically into it, whether it
/// was ever called or not. Descriptors written by hand, and those in libraries that are loaded besides, are in it once
/// something was attached to them. Costs a lock, and the first time a walk over the declared ones.
public struct JoinPointListing: Sendable, CustomStringConvertible {
  /// A join point.
  public struct JoinPoint: Hashable, Sendable {
    /// Its name.
    public let name: String
    /// Where it is declared.
    public let file: String
    public let line: UInt32
    /// The type that has it; nil for a free function.
    public let owner: String?
    /// Who listens, in the order in which they fire.
    public internal(set) var hooks: [Hook] = []
  }

  /// A hook.
  public struct Hook: Hashable, Sendable {
    /// When advice runs.
    public enum Time: String, Sendable {
      case before, after
    }

    public let time: Time
    /// Whom it listens to, in words: `every call`, `exactly Child`, `Child and its subclasses`, `one Child`.
    public let target: String
    /// Where it was attached.
    public let file: String
    public let line: UInt32
  }

  /// By name.
  public let joinPoints: [JoinPoint]

  /// How many calls were not told to anybody, because there was no memory to fire.
  public let missedCalls: UInt64

  /// As it is now.
  public init() {
    missedCalls = HookRegistry.missedCount
    joinPoints = HookRegistry.points().map { point in
      var joinPoint = point.listed
      joinPoint.hooks = point.hooks.map(\.description)
      return joinPoint
    }.sorted { ($0.name, $0.file, $0.line) < ($1.name, $1.file, $1.line) }
  }

  public var description: String {
    joinPoints.map { point in
      let hooks = point.hooks.map { "\n  \($0.time), \($0.target)   \($0.file):\($0.line)" }.joined()
      return "\(point.name)   \(point.file):\(point.line)\(hooks)"
    }.joined(separator: "\n")
  }
}

/// How a macro makes a join point known to the listing. For the macros alone.
public typealias JoinPointRecord = @convention(c) (UnsafeMutableRawPointer?) -> Void

extension JoinPoint {
  /// Makes it known to the listing. For the macros alone.
  public func add(to list: UnsafeMutableRawPointer?) {
    HookRegistry.declare(listed, at: word)
  }

  var listed: JoinPointListing.JoinPoint {
    JoinPointListing.JoinPoint(
      name: "\(name)", file: "\(file)", line: line, owner: Owner.self == Void.self ? nil : "\(Owner.self)")
  }
}

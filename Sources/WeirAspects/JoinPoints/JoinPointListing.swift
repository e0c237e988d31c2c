// JoinPointListing: which join points there are, and who listens.

import Weir

/// The join points of the process and their hooks, as they were when it was made: for tests that hold a program to its
/// tracking plan, and for finding out why nothing, or too much, is heard.
///
/// ```swift
/// print(JoinPointListing())
/// ItemPage.like(_:)   Shop/ItemPage.swift:12
///   after, one ItemPage   Shop/ItemTracking.swift:9
///
/// let unheard = JoinPointListing().joinPoints.filter(\.hooks.isEmpty)
/// ```
///
/// It has every join point that a macro declares in the executable, and what is linked statically into it, whether it
/// was ever called or not. Descriptors written by hand, and those in libraries that are loaded besides, are in it once
/// something was attached to them. Costs a lock, and the first time a walk over the declared ones.
public struct JoinPointListing: Sendable, CustomStringConvertible {
  /// A join point, and who listens to it.
  public struct Entry: Hashable, Sendable {
    /// The join point's name.
    public let name: String
    /// Where the join point is declared.
    public let file: String
    /// The line in the file.
    public let line: UInt32
    /// The hooks in the order in which they fire, each as when, to whom and where it was attached:
    /// `before, exactly Child   Shop/Tracking.swift:9`.
    public internal(set) var hooks: [String] = []
  }

  /// By name.
  public let joinPoints: [Entry]

  /// How many calls were not told to anybody, because there was no memory to fire.
  public let missedCalls: UInt64

  /// As it is now.
  public init() {
    missedCalls = HookRegistry.missedCount
    joinPoints = HookRegistry.points().map { point in
      var entry = point.listed
      entry.hooks = point.hooks.map(\.description)
      return entry
    }.sorted { ($0.name, $0.file, $0.line) < ($1.name, $1.file, $1.line) }
  }

  public var description: String {
    joinPoints.map { point in
      "\(point.name)   \(point.file):\(point.line)" + point.hooks.map { "\n  \($0)" }.joined()
    }.joined(separator: "\n")
  }
}

extension JoinPoint {
  /// Makes it known to the listing. For the macros alone.
  public func add(to list: UnsafeMutableRawPointer?) {
    HookRegistry.declare(listed, at: word)
  }

  var listed: JoinPointListing.Entry {
    JoinPointListing.Entry(name: "\(name)", file: "\(file)", line: line)
  }
}

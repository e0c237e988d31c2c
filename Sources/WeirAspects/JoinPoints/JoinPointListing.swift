// JoinPointListing: the join points of the process, and the hooks that listen to each.

import Weir

/// The join points of the process and their hooks, at the time when the listing was made. Use a listing in tests that
/// compare a program with its tracking plan, and to find out why a hook hears nothing, or too much.
///
/// ```swift
/// print(JoinPointListing())
/// ItemPage.like(_:)   Shop/ItemPage.swift:12
///   after, one ItemPage   Shop/ItemTracking.swift:9
///
/// let unheard = JoinPointListing().joinPoints.filter(\.hooks.isEmpty)
/// ```
///
/// A listing has every join point that a macro declares in the executable and in the libraries that are linked
/// statically into the executable, called or not. A descriptor that was written by hand, or that is in a dynamic
/// library, is listed once a hook was attached to the descriptor. A listing costs a lock; the first listing also costs
/// a walk over the declared join points.
public struct JoinPointListing: Sendable, CustomStringConvertible {
  /// A join point and its hooks.
  public struct Entry: Hashable, Sendable {
    /// The join point's name.
    public let name: String
    /// The file that declares the join point.
    public let file: String
    /// The line in the file.
    public let line: UInt32
    /// The hooks, in the order in which they fire. Each hook is described by its time, its target, and the place where
    /// the hook was attached: `before, exactly Child   Shop/Tracking.swift:9`.
    public internal(set) var hooks: [String] = []
  }

  /// The join points, sorted by name.
  public let joinPoints: [Entry]

  /// The number of calls that fired no hooks because there was no memory to do so.
  public let missedCalls: UInt64

  /// Lists the join points and their hooks.
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
  /// Adds the join point to the listing. For the macros only.
  public func add(to list: UnsafeMutableRawPointer?) {
    HookRegistry.declare(listed, at: word)
  }

  var listed: JoinPointListing.Entry {
    JoinPointListing.Entry(name: "\(name)", file: "\(file)", line: line)
  }
}

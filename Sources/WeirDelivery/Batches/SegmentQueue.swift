// SegmentQueue: which segment of a log comes next.

import Weir

/// The sealed segments of a log, in the order of their offsets. Belongs to the loop of one provider.
struct SegmentQueue {
  enum Found {
    case segment(SegmentName, SegmentSummary)
    /// A file that has a segment's name, and whose header or seal is damaged. The next segment begins at `until`; `nil`
    /// if none follows.
    case unreadable(SegmentName, until: Offset?)
    /// No file has the offsets below this one.
    case gap(until: Offset)
    /// No sealed segment has offsets at or above the position.
    case nothing

    /// Whether offsets are passed over.
    fileprivate var isLoss: Bool {
      switch self {
      case .segment, .nothing: false
      case .unreadable, .gap: true
      }
    }
  }

  private let directory: String
  private let calls: SystemCalls
  private var names: [SegmentName] = []
  /// The first offset of the first segment that is not sealed.
  private var firstActive: Offset?
  /// The end of the segment that came last. It is not read again.
  private var last: (base: Offset, end: Offset)?

  init(_ directory: String, calls: SystemCalls) {
    self.directory = directory
    self.calls = calls
  }

  /// Finds the segment that holds `position`, or the first one after it. Lists the directory if the last listing has
  /// none.
  ///
  /// A file that gets another name during a listing of a large directory may be in it under neither. So what would be
  /// passed over is looked for in a second listing.
  mutating func next(at position: Offset) throws(WeirError) -> Found {
    if let found = try look(at: position), !found.isLoss { return found }
    try list()
    let found = try look(at: position) ?? .nothing
    guard found.isLoss else { return found }
    try list()
    return try look(at: position) ?? .nothing
  }

  /// Lists the directory at the next call, because a file has another name by now.
  mutating func forget() {
    names = []
    last = nil
  }

  private mutating func list() throws(WeirError) {
    firstActive = nil
    var found: [Offset: SegmentName] = [:]
    for text in try calls.names(in: try calls.openDirectory(directory)) {
      if let name = SegmentName(text) {
        // Of a segment that is there raw and as a batch, the batch may be incomplete.
        if !name.isBatch || found[name.base] == nil { found[name.base] = name }
      } else if text.hasSuffix(SegmentName.activeSuffix), let base = Offset(text.prefix(SegmentName.digits)) {
        firstActive = min(firstActive ?? base, base)
      }
    }
    names = found.values.sorted()
  }

  private mutating func look(at position: Offset) throws(WeirError) -> Found? {
    let after = firstIndex(above: position)
    let following = after < names.count ? names[after].base : nil
    if after > 0 {
      let name = names[after - 1]
      do throws(WeirError) {
        if let found = try read(name, position) { return found }
      } catch {
        switch error.code {
        // Compressed or removed since the listing.
        case .missing:
          names.remove(at: after - 1)
          return nil
        case .invalid:
          let until = [following, firstActive].compactMap { $0 }.filter { $0 > name.base }.min()
          if until.map({ $0 > position }) ?? true { return .unreadable(name, until: until) }
        default: throw error
        }
      }
    }
    guard let following, firstActive.map({ following < $0 }) ?? true else { return nil }
    return .gap(until: following)
  }

  private mutating func read(_ name: SegmentName, _ position: Offset) throws(WeirError) -> Found? {
    if let last, last.base == name.base, last.end <= position { return nil }
    let summary = try SegmentFile.read(name, in: directory)
    last = (name.base, summary.offsets.upperBound)
    return summary.offsets.upperBound > position ? .segment(name, summary) : nil
  }

  private func firstIndex(above position: Offset) -> Int {
    names.partitioningIndex { $0.base > position }
  }
}

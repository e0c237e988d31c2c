// ControlSource: a control's events as a side, whatever holds them.

import Weir

/// A file of lines, a table, or a log.
enum ControlSource: EventSource {
  case lines(JSONLinesSource)
  case table(CSVSource)
  case log(LogSource)

  enum Part: Sendable {
    case bytes(Range<Int>)
    case rows(from: Int)
    case offsets(Range<Offset>)
  }

  /// Opens a control. A directory is a log that a ``Control`` recorded, and a file whose name ends in `.csv` is a
  /// table. Throws `missing` if the control is not there.
  ///
  /// With `start`, the control is read from this place on, and a file up to its last whole line.
  init(
    _ path: String, form: ControlForm?, zone: ControlZone? = nil, from start: UInt64? = nil
  ) throws(WeirError) {
    if Self.isDirectory(path) {
      self = .log(try LogSource(path, isControl: true, from: start ?? 0))
      return
    }
    let file = try ControlFile(path, isWritten: start != nil)
    // A file that was cut, or another one in its place, is read from its beginning.
    let start = start.flatMap { $0 <= UInt64(file.byteCount) ? $0 : 0 }
    self =
      CSVSource.isTable(path)
      ? .table(try CSVSource(file, zone: zone, from: Int(start ?? 0)))
      : .lines(JSONLinesSource(file: file, form: form, zone: zone, start: Int(start ?? 0)))
  }

  /// A text that is another one for another file of the same path; `nil` for a log, which is its directory.
  func identity() throws(WeirError) -> String? {
    switch self {
    case .lines(let source): try source.file.identity()
    case .table(let source): try source.file.identity()
    case .log: nil
    }
  }

  /// A text that is another one for another control, or for a control with other events.
  func state() throws(WeirError) -> String {
    switch self {
    case .lines(let source): try source.file.state()
    case .table(let source): try source.file.state()
    case .log(let source): try source.state()
    }
  }

  static func isDirectory(_ path: String) -> Bool { (try? SystemCalls().openDirectory(path + "/.")) != nil }

  /// About how many events there are: a line with an event has a hundred bytes or more.
  var roughCount: Int {
    switch self {
    case .lines(let source): source.file.byteCount / 100
    case .table(let source): source.file.byteCount / 100
    case .log(let source): source.range.count
    }
  }

  /// The rules with which this side's values are comparable.
  func rules(_ rules: ComparisonRules) -> ComparisonRules {
    if case .table = self { CSVSource.rules(rules) } else { rules }
  }

  var hasForeignIDs: Bool {
    switch self {
    case .lines(let source): source.hasForeignIDs
    case .table(let source): source.hasForeignIDs
    case .log(let source): source.hasForeignIDs
    }
  }

  func parts(_ count: Int) throws(WeirError) -> [Part] {
    switch self {
    case .lines(let source): source.parts(count).map { .bytes($0) }
    case .table(let source): source.parts(count).map { .rows(from: $0) }
    case .log(let source): try source.parts(count).map { .offsets($0) }
    }
  }

  func read(_ part: Part, _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void) throws(WeirError) -> UInt64 {
    switch (self, part) {
    case (.lines(let source), .bytes(let range)): try source.read(range, body)
    case (.table(let source), .rows(let start)): try source.read(start, body)
    case (.log(let source), .offsets(let range)): try source.read(range, body)
    default: preconditionFailure("a part of another side")
    }
  }

  func read(at places: [UInt64], _ body: (ComparedEvent, UInt64) throws(WeirError) -> Void) throws(WeirError) {
    switch self {
    case .lines(let source): try source.read(at: places, body)
    case .table(let source): try source.read(at: places, body)
    case .log(let source): try source.read(at: places, body)
    }
  }
}

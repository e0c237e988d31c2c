// BatchDirectoryProvider: keeps batch segments as files in a directory.

import Weir

/// Keeps the batch segments of logs as files in a directory, such as one that is mirrored to an object store.
///
/// ```swift
/// try dispatcher.add(batchesTo: BatchDirectoryProvider("/mnt/archive"), options: .asCaptured)
/// ```
///
/// Each segment becomes the file ``BatchSegment/fileName``, which never changes. The directory of each log in it is a
/// log for every reader: `weir cat /mnt/archive/9f0c…` and `EventReader` give the events with their offsets and ids,
/// and `weir verify` checks them.
///
/// A segment is accepted once its file is on disk under its name. A kill at any moment leaves whole files, and a file
/// named `incoming-…` that the next start removes. A segment that comes again is recognised, and leaves one file. If
/// the name has another segment, because a copy of the log lived on by itself, delivery stops until somebody keeps the
/// two apart.
///
/// **Several logs** may have one directory, and so may the processes that deliver them, but one log must be delivered
/// to it under one name only. Files have mode 0600, directories 0700.
public final class BatchDirectoryProvider: BatchProvider, Sendable {
  public let name: String

  private let store: SegmentStore
  private let calls: SystemCalls
  /// The logs in whose directories nothing is left of interrupted writes.
  private let cleared = Lock<Set<String>>([])

  /// Creates a provider for the directory at `path`, which is made with the first segment.
  ///
  /// - Parameters:
  ///   - path: The directory.
  ///   - name: The name of the provider and its cursor.
  public convenience init(_ path: String, name: String = "batches") {
    self.init(path, name: name, calls: SystemCalls())
  }

  init(_ path: String, name: String, calls: SystemCalls) {
    self.name = name
    self.calls = calls
    store = SegmentStore(path, calls: calls)
  }

  /// Copies the segment's file. Waits for the disk. Throws ``DeliveryStopped`` if another segment has the file's name.
  public func deliver(_ segment: BatchSegment) async throws -> Verdict {
    do throws(WeirError) {
      try await onDiskThread { () throws(WeirError) in try self.copy(segment) }
    } catch {
      // Somebody has to keep the copies of the log apart: no further try ends that.
      guard error.code != .unsafe else { throw DeliveryStopped(error.message) }
      throw error
    }
    return .accepted
  }

  private func copy(_ segment: BatchSegment) throws(WeirError) {
    let logName = SegmentFile.name(ofLog: segment.logID)
    if !cleared.withLock({ $0.contains(logName) }) {
      try store.removeIncomplete(ofLog: logName)
      cleared.withLock { _ = $0.insert(logName) }
    }
    let file = try opened(segment.path)
    var incoming = try store.begin(segment.name, ofLog: logName)
    do throws(WeirError) {
      while incoming.byteCount < segment.byteCount {
        let count = min(1 << 20, segment.byteCount - incoming.byteCount)
        let bytes = try calls.read(file, count, at: incoming.byteCount)
        guard !bytes.isEmpty else { throw WeirError(.io, "\(segment.path) became shorter", path: segment.path) }
        try incoming.append(bytes)
      }
    } catch {
      incoming.discard()
      throw error
    }
    _ = try incoming.finish()
  }

  private func opened(_ path: String) throws(WeirError) -> Descriptor {
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    let directory = try calls.openDirectory(String(path[..<slash]))
    guard let file = try calls.open(String(path[path.index(after: slash)...]), in: directory, forWriting: false) else {
      throw WeirError(.missing, "\(path) is gone", path: path)
    }
    return file
  }
}

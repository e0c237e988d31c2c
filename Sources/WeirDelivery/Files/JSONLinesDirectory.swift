// JSONLinesDirectory: the open files of a JSONLinesProvider.

import Logging
import Weir

/// A provider's files in a directory, locked for this process. After any error, the provider discards this object and
/// opens the directory again, as after a kill.
final class JSONLinesDirectory {
  private let provider: String
  private let options: JSONLinesProvider.Options
  private let calls: SystemCalls
  private let directory: Descriptor
  private let lock: CursorLock
  private var index: JSONLinesIndex
  private var file: JSONLinesFile?
  private let lines: EventLines

  /// Opens the directory, creates it if it is missing, and finishes files that were left open.
  init(
    _ path: String, of provider: String, _ options: JSONLinesProvider.Options, _ calls: SystemCalls
  ) throws(WeirError) {
    self.provider = provider
    self.options = options
    self.calls = calls
    lines = EventLines(options.json)
    try calls.makeDirectories(path)
    // The trailing slash makes it possible that the directory is a symbolic link: the files may be on another disk.
    directory = try calls.openDirectory(path.hasSuffix("/") ? path : path + "/")
    lock = try CursorLock(
      file: JSONLinesName.lock(provider), in: directory, calls,
      heldBy: "another process, or another provider, writes files under this name; use another name for one of them")
    index = JSONLinesIndex(directory, calls)
    for text in try calls.names(in: directory).sorted() {
      if text == JSONLinesName.new(provider) {
        // Nothing in the new file was acknowledged.
        try calls.unlink(text, in: directory)
      } else if let name = JSONLinesName(text, of: provider) {
        guard let bytes = name.openBytes else {
          index.add(name)
          continue
        }
        try finish(name, bytes)
      }
    }
    // From here on, the names in the directory count: an event that is in a file by the file's name is not written
    // again.
    try calls.syncDirectory(directory)
  }

  /// Finishes a file that was left open. Keeps the acknowledged bytes, and cuts off the rest.
  private func finish(_ name: JSONLinesName, _ bytes: Int) throws(WeirError) {
    guard let file = try calls.open(name.text, in: directory) else { return }
    let there = try calls.byteCount(of: file)
    if there < bytes {
      let aside = name.finished.text + ".damaged"
      try calls.rename(name.text, to: aside, in: directory)
      options.logger?.error(
        "a file of delivered events has lost its end; the file is renamed to .damaged",
        metadata: [
          "provider": "\(provider)", "file": "\(directory.path)\(aside)", "bytes": "\(there)",
          "acknowledged": "\(bytes)",
        ])
      return
    }
    if there > bytes {
      try calls.truncate(file, to: bytes)
      // Synced before the name shows that the file is finished.
      try calls.syncData(file)
    }
    try calls.rename(name.text, to: name.finished.text, in: directory)
    index.add(name.finished)
  }

  /// Whether a file is open.
  var isOpen: Bool { file != nil }

  /// Writes the events that are not in a file yet. All of them are durable when this returns.
  func write(_ events: [PreparedEvent]) throws(WeirError) {
    var next = 0
    while next < events.count {
      let event = events[next]
      if try contains(event) {
        next += 1
        continue
      }
      if let file, !file.takes(event) { try finish() }
      let open = try openFile(for: event)
      next = try open.append(events, from: next, above: index.last(of: event.id.opening))
    }
    if let file, file.isPending { try acknowledge(finishingAt: options.fileBytes) }
  }

  private func openFile(for event: PreparedEvent) throws(WeirError) -> JSONLinesFile {
    if let file { return file }
    let new = try JSONLinesFile(
      startingWith: event, of: provider, in: directory, isCompressed: options.isCompressed, lines, calls)
    file = new
    return new
  }

  private func contains(_ event: PreparedEvent) throws(WeirError) -> Bool {
    let (opening, offset) = (event.id.opening, event.offset)
    if let file, file.name.opening == opening, file.offsets.contains(offset) { return true }
    return try index.contains(offset, of: opening)
  }

  /// Finishes the open file, if there is one, including the events that were appended.
  func finish() throws(WeirError) {
    try acknowledge(finishingAt: 0)
  }

  private func acknowledge(finishingAt limit: Int) throws(WeirError) {
    guard try file?.acknowledge(finishingAt: limit) == true, let name = file?.name else { return }
    index.add(name)
    file = nil
  }
}

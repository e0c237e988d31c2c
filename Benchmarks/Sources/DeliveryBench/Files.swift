// Files.swift: delivery to files, by the provider alone and by the dispatcher out of the log, beside the same bytes
// written and synced as often with nothing else to do.
import Foundation
import Weir
import WeirDelivery

func measureFiles(_ log: SampleLog, in folder: URL, batch: Int, rounds: Int) async throws -> [Row] {
  func row(_ name: String) -> Row {
    Row(
      name: name, batch: batch, seconds: [], limitName: "write, sync and rename as often", events: log.count,
      bytes: log.json.count)
  }
  var alone = row("files, the provider alone")
  var compressed = row("files.lz4, the provider alone")
  var dispatched = row("files, from the log")
  let files = folder.appending(path: "files")
  for round in 0..<rounds {
    let limit = try writeAsOften(log, in: folder, batch: batch)
    for isCompressed in [false, true] {
      let taken = try await secondsOfTask {
        let provider = JSONLinesProvider(files.path, options: options(isCompressed))
        for start in stride(from: 0, to: log.count, by: batch) {
          let events = Array(log.events[start..<min(start + batch, log.count)])
          guard try await provider.deliver(events).allSatisfy({ $0 == .accepted }) else {
            throw BenchFailure(description: "files rejected events")
          }
        }
        await provider.shutdown()
      }
      if isCompressed { compressed.seconds.append(taken) } else { alone.seconds.append(taken) }
      try check(files, log, isCompressed)
    }
    dispatched.seconds.append(try await dispatch(log, to: files, batch: batch, name: "files-\(batch)-\(round)"))
    try check(files, log, false)
    for index in 0..<3 {
      switch index {
      case 0: alone.limit.append(limit)
      case 1: compressed.limit.append(limit)
      default: dispatched.limit.append(limit)
      }
    }
  }
  return [alone, compressed, dispatched]
}

private func options(_ isCompressed: Bool) -> JSONLinesProvider.Options {
  var options = JSONLinesProvider.Options()
  options.logger = nil
  options.isCompressed = isCompressed
  return options
}

/// Through a dispatcher, from the log's first event to the last one's acknowledgement.
private func dispatch(_ log: SampleLog, to files: URL, batch: Int, name: String) async throws -> Double {
  var configuration = Dispatcher.Configuration()
  configuration.logger = nil
  let dispatcher = try Dispatcher(directory: log.directory, configuration: configuration)
  var delivery = DeliveryOptions()
  delivery.flush.queueLimit = batch
  delivery.flush.maximumEvents = batch
  delivery.flush.maximumBytes = 64 << 20
  delivery.flush.deliverySize = 64 << 20
  var running: Task<DeliveryReport, any Error>?
  let taken = try await secondsOfTask {
    try dispatcher.add(JSONLinesProvider(files.path, name: name, options: options(false)), options: delivery)
    running = Task { try await dispatcher.run() }
    let report = await dispatcher.flush(timeout: .seconds(600))
    guard report.isComplete else { throw BenchFailure(description: "delivery failed: \(report)") }
  }
  running?.cancel()
  _ = try await running?.value
  guard let entry = dispatcher.ledger[name], entry.isBalanced, entry.acknowledged == UInt64(log.count) else {
    throw BenchFailure(description: "not all events were delivered: \(dispatcher.ledger)")
  }
  return taken
}

/// The files are removed once they were found to hold what they should.
private func check(_ files: URL, _ log: SampleLog, _ isCompressed: Bool) throws {
  let names = try FileManager.default.contentsOfDirectory(atPath: files.path).filter { $0.contains(".jsonl") }.sorted()
  var content = Data()
  for name in names where !isCompressed { content += try Data(contentsOf: files.appending(path: name)) }
  guard isCompressed ? !names.isEmpty : content == Data(log.json) else {
    throw BenchFailure(description: "the files do not hold the \(log.count) events")
  }
  try FileManager.default.removeItem(at: files)
}

/// The same bytes in as many pieces, each written, synced, renamed, and the directory synced: what the disk takes for
/// it.
private func writeAsOften(_ log: SampleLog, in folder: URL, batch: Int) throws -> Double {
  let directory = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  let path = folder.appending(path: "limit").path
  let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
  guard directory >= 0, file >= 0 else { throw BenchFailure(description: "no file can be made in \(folder.path)") }
  defer {
    close(file)
    close(directory)
    unlink(path)
    unlink(path + "-1")
  }
  let deliveries = (log.count + batch - 1) / batch
  let piece = (log.json.count + deliveries - 1) / deliveries
  return try seconds {
    var isRenamed = false
    for start in stride(from: 0, to: log.json.count, by: piece) {
      let count = min(piece, log.json.count - start)
      let written = log.json.withUnsafeBytes { pwrite(file, $0.baseAddress! + start, count, start) }
      let names = isRenamed ? (path + "-1", path) : (path, path + "-1")
      isRenamed.toggle()
      guard written == count, fdatasync(file) == 0, rename(names.0, names.1) == 0, fsync(directory) == 0 else {
        throw BenchFailure(description: "the disk can't be written: \(String(cString: strerror(errno)))")
      }
    }
  }
}

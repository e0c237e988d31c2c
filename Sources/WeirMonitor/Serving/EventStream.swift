// EventStream: one page's stream of events: frames at a steady pace, whatever the rate of the log.

import Weir
import WeirDelivery

/// Writes the messages of one stream: see the page MonitorProtocol.
///
/// A reader that is slow makes the stream slow: the next frame is made when the last one was taken, and says how many
/// events it left out. So a stream has one frame in memory, at most.
struct EventStream: Sendable {
  /// The time between two frames.
  private static let pace = Duration.milliseconds(80)
  private static let heartbeat = Duration.seconds(15)
  /// The time between two looks for a log that is not there.
  private static let missingPause = Duration.milliseconds(500)

  private let watch: LogWatch
  /// Whether another log is meant now by the name that the page has, or by none.
  private let isMoved: @Sendable () -> Bool
  private let filter: EventFilter
  private let resume: ResumePoint?
  private let showsSensitive: Bool

  init(
    _ watch: LogWatch, filter: EventFilter, resume: ResumePoint?, showsSensitive: Bool,
    isMoved: @escaping @Sendable () -> Bool
  ) {
    self.watch = watch
    self.isMoved = isMoved
    self.filter = filter
    self.resume = resume
    self.showsSensitive = showsSensitive
  }

  /// Writes messages until the task is cancelled, `isEnding` returns `true`, `write` throws because the reader is gone,
  /// or the log can't be read.
  func run(
    _ write: ([UInt8]) async throws -> Void, streams: () -> Int, isEnding: () -> Bool
  ) async throws {
    var resume = resume
    // A browser that lost its connection comes back after a second.
    try await write(Array("retry: 1000\n\n".utf8))
    while !Task.isCancelled, !isEnding() {
      do {
        try await follow(&resume, write, streams, isEnding)
      } catch let error as WeirError {
        guard error.code == .missing else {
          return try await write(Self.message("failure", .object(["error": .string(error.message)])))
        }
        // The log may come, or come again: then from its beginning.
        resume = nil
        try await write(Self.message("waiting", .object(["error": .string(error.message)])))
        // The page comes back by itself, to the other log.
        if isMoved() { return }
        try await Task.sleep(for: Self.missingPause)
      }
    }
  }

  private func follow(
    _ resume: inout ResumePoint?, _ write: ([UInt8]) async throws -> Void, _ streams: () -> Int, _ isEnding: () -> Bool
  ) async throws {
    if let point = resume, try !point.isValid(for: watch.log) {
      try await write(Self.message("waiting", .object(["error": "the log was replaced, or has lost its end"])))
      resume = nil
    }
    let feed = try EventFeed(
      watch, filter, from: resume?.next ?? EventFeed.start(of: watch, filter), first: resume?.first,
      showsSensitive: showsSensitive)
    var last: (isAtEnd: Bool, isLive: Bool)?
    var sumsAt = ContinuousClock.now
    var writtenAt = sumsAt
    while !Task.isCancelled, !isEnding() {
      let began = ContinuousClock.now
      let news = try feed.look(until: began + Self.pace)
      var text: [UInt8] = []
      if let providers = news.providers {
        text += Self.message("providers", .array(providers.map { .string($0) }))
      }
      let now = (isAtEnd: news.found.isAtEnd, isLive: news.isLive)
      let point = ResumePoint(next: news.found.next, last: news.found.last ?? resume?.last, first: feed.first)
      if !news.isEmpty || last.map({ $0 != now }) ?? true {
        text += Self.message("frame", MonitorJSON.frame(news), id: point)
      }
      last = now
      resume = point
      if began >= sumsAt {
        sumsAt = began + .seconds(1)
        text += Self.message("sums", MonitorJSON.sums(try watch.sums(), streams: streams()))
      }
      if text.isEmpty, began >= writtenAt + Self.heartbeat { text = Array(":\n\n".utf8) }
      if !text.isEmpty {
        try await write(text)
        writtenAt = began
      }
      let end = began + Self.pace
      if ContinuousClock.now < end { try await Task.sleep(until: end, clock: .continuous) } else { await Task.yield() }
    }
  }

  /// A message of server-sent events. JSON has no line breaks.
  private static func message(_ event: String, _ data: FieldValue, id: ResumePoint? = nil) -> [UInt8] {
    Array("event: \(event)\n\(id.map { "id: \($0)\n" } ?? "")data: \(MonitorJSON.json(data))\n\n".utf8)
  }
}

// TrackedBody: captures a request's event at the end of a body whose length was not known before.

#if Hummingbird
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import Synchronization
  import Weir

  /// The event of a response whose body is still to be written. Captured once: at the end of the body, at an error of
  /// the body, or, if nobody writes the body, when the response is released.
  final class TrackedBody: Sendable {
    private let tracker: Tracker
    private let start: MonotonicTime
    /// The body is written after the middleware has returned, where the request's bindings no longer apply.
    private let bindings = Bindings.current
    /// `nil` once captured.
    private let event: Mutex<RequestEvent?>

    init(_ event: RequestEvent, since start: MonotonicTime, _ tracker: Tracker) {
      self.tracker = tracker
      self.start = start
      var event = event
      event.responseBytes = 0
      self.event = Mutex(event)
    }

    deinit {
      end(with: nil)
    }

    func around(_ body: ResponseBody) -> ResponseBody {
      ResponseBody { [self] writer in
        try await bindings.run {
          do {
            try await body.write(CountingWriter(writer: writer, body: self))
            end(with: nil)
          } catch {
            end(with: error)
            throw error
          }
        }
      }
    }

    fileprivate func add(_ bytes: Int) {
      event.withLock { $0?.responseBytes? += UInt64(bytes) }
    }

    private func end(with error: (any Error)?) {
      let ended = event.withLock { event -> RequestEvent? in
        defer { event = nil }
        return event
      }
      guard var ended else { return }
      ended.nanoseconds = MonotonicTime.now.nanoseconds - start.nanoseconds
      ended.error = error.map { "\(type(of: $0))" }
      bindings.run { _ = tracker.track(ended) }
    }
  }

  /// Counts the bytes that pass.
  private struct CountingWriter: ResponseBodyWriter {
    var writer: any ResponseBodyWriter
    let body: TrackedBody

    mutating func write(_ buffer: ByteBuffer) async throws {
      try await writer.write(buffer)
      body.add(buffer.readableBytes)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
      try await writer.finish(trailingHeaders)
    }
  }
#endif

// BatchIntake: takes batch segments of other logs, checks them, and keeps them as the files they are.

#if Collector
  import Foundation
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import NIOHTTPTypes
  import Synchronization
  import Weir

  /// Takes PUT at `/batches/LOG/FIRST.weir.lz4`, as `HTTPBatchProvider` sends it.
  ///
  /// What comes is written to a file that no reader knows, and checked whole: every checksum and every rule that `weir
  /// verify` knows. Then it is on disk under its name before the request is answered. So a kill at any moment leaves no
  /// half of a segment, and a segment that comes again is there once.
  final class BatchIntake: Sendable {
    static let directoryName = "batches"
    private static let path = "/batches/"
    /// How many segments may be checked at a time: each takes some MiB of memory, and a thread.
    private static let mostAtOnce = 8

    private enum Problem: Error {
      case tooLarge, tooSlow, ended, busy
      case digest
      case log(WeirError)
    }

    private let store: SegmentStore
    private let bytesLimit: Int
    private let time: Duration
    private let inProgress = Atomic<Int>(0)

    /// Removes what a killed collector left half written.
    init(_ configuration: Collector.Configuration, in directory: String) throws(WeirError) {
      store = SegmentStore(directory + "/" + Self.directoryName)
      bytesLimit = configuration.maximumSegmentBytes
      time = min(configuration.requestTime, Collector.Configuration.longest)
      try store.removeIncomplete()
    }

    static func isAt(_ path: String) -> Bool { path.hasPrefix(Self.path) || path + "/" == Self.path }

    /// Takes the segment, and answers. `discard` reads a body that nobody wants.
    func answer(
      to request: Request, over connection: any Channel, discard: () async -> Void
    ) async -> Answer {
      guard request.method == .put else {
        var answer = Answer.text(405, "\(Self.path) takes PUT\n")
        answer.headers.append(("Allow", "PUT"))
        return await refuse(answer, request, discard)
      }
      guard let (log, name) = Self.place(request.uri.path) else {
        return await refuse(
          .text(400, "a segment belongs at \(Self.path)LOG/FIRST.weir.lz4, with 16 and 20 digits\n"), request, discard)
      }
      if let announced = request.headers[.contentLength].flatMap({ Int($0) }), announced > bytesLimit {
        return await refuse(answer(to: .tooLarge), request, discard)
      }
      guard inProgress.wrappingAdd(1, ordering: .relaxed).newValue <= Self.mostAtOnce else {
        inProgress.wrappingSubtract(1, ordering: .relaxed)
        return await refuse(answer(to: .busy), request, discard)
      }
      defer { inProgress.wrappingSubtract(1, ordering: .relaxed) }
      do throws(Problem) {
        return .text(try await take(request, log, name, over: connection) == .new ? 201 : 200, "")
      } catch {
        return answer(to: error)
      }
    }

    /// Log and name of a segment's path; `nil` for any other path.
    private static func place(_ path: String) -> (log: String, name: SegmentName)? {
      let parts = path.dropFirst(Self.path.count).split(separator: "/", omittingEmptySubsequences: false)
      guard path.hasPrefix(Self.path), parts.count == 2, SegmentStore.isLogName(parts[0]),
        let name = SegmentName(parts[1])
      else { return nil }
      return (String(parts[0]), name)
    }

    private func refuse(_ answer: Answer, _ request: Request, _ discard: () async -> Void) async -> Answer {
      await discard()
      return answer.closing()
    }

    private func take(
      _ request: Request, _ log: String, _ name: SegmentName, over connection: any Channel
    ) async throws(Problem) -> SegmentStore.Arrival {
      if request.headers[.expect]?.lowercased() == "100-continue" {
        do {
          try await connection.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
        } catch {
          throw .ended
        }
      }
      let incoming = try await onDisk { [store] () throws(WeirError) in try store.begin(name, ofLog: log) }
      let received = await receive(request, into: incoming)
      do throws(Problem) {
        let (whole, checksum) = try received.get()
        guard Self.isRight(request.headers[Self.digest], checksum) else { throw .digest }
        return try await onDisk { () throws(WeirError) in
          try whole.verify()
          return try whole.finish()
        }
      } catch {
        incoming.discard()
        throw error
      }
    }

    private func onDisk<Answer: Sendable>(
      _ body: @escaping @Sendable () throws(WeirError) -> Answer
    ) async throws(Problem) -> Answer {
      do throws(WeirError) { return try await onDiskThread(body) } catch { throw .log(error) }
    }

    // MARK: The body

    private static let digest = HTTPField.Name("Content-Digest")!

    /// Whether the body has the CRC32C that the header states. `true` if the header states none.
    private static func isRight(_ header: String?, _ checksum: UInt32) -> Bool {
      let prefix = "crc32c=:"
      let all = (header ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
      guard let digest = all.first(where: { $0.hasPrefix(prefix) }) else { return true }
      let own = withUnsafeBytes(of: checksum.bigEndian) { Data($0).base64EncodedString() }
      return digest == prefix + own + ":"
    }

    private func receive(
      _ request: Request, into incoming: IncomingSegment
    ) async -> Result<(IncomingSegment, UInt32), Problem> {
      let progress = Progress()
      return await withTaskGroup(of: Result<(IncomingSegment, UInt32), Problem>?.self) { group in
        group.addTask { [bytesLimit] in await Self.collect(request.body, into: incoming, bytesLimit, progress) }
        group.addTask { [time] in
          await progress.waitUntilSlow(after: time)
          return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        if let first { return first }
        await group.waitForAll()
        return .failure(.tooSlow)
      }
    }

    /// How much of a body has come.
    private final class Progress: Sendable {
      /// The fewest bytes of a body that takes longer than a request may, in each 5 seconds.
      private static let leastBytes = 5 * 64 << 10

      private let byteCount = Atomic<Int>(0)
      /// The number of writes to the disk that began, and of those that ended.
      private let writes = Atomic<Int>(0)
      private let written = Atomic<Int>(0)

      func add(_ count: Int) { byteCount.wrappingAdd(count, ordering: .relaxed) }
      func beginWrite() { writes.wrappingAdd(1, ordering: .relaxed) }
      func endWrite() { written.wrappingAdd(1, ordering: .relaxed) }

      /// Returns once a body that takes longer than `time` is slow, or if the task is cancelled. The sender of a body
      /// that waits for the disk here is not.
      func waitUntilSlow(after time: Duration) async {
        var pause = time
        var (seen, seenWritten) = (0, 0)
        while (try? await Task.sleep(for: pause)) != nil {
          let (count, ended) = (byteCount.load(ordering: .relaxed), written.load(ordering: .relaxed))
          let isWaiting = ended != seenWritten || writes.load(ordering: .relaxed) != ended
          guard isWaiting || count - seen >= Self.leastBytes else { return }
          (seen, seenWritten) = (count, ended)
          pause = min(time, .seconds(5))
        }
      }
    }

    /// The bytes of a body that are written together.
    private static let pieceBytes = 1 << 20

    private static func collect(
      _ body: RequestBody, into incoming: IncomingSegment, _ limit: Int, _ progress: Progress
    ) async -> Result<(IncomingSegment, UInt32), Problem> {
      var incoming = incoming
      var checksum = CRC32C()
      var piece: [UInt8] = []
      do {
        for try await part in body {
          guard incoming.byteCount + piece.count + part.readableBytes <= limit else { return .failure(.tooLarge) }
          progress.add(part.readableBytes)
          part.readableBytesView.withUnsafeBytes { checksum.add($0) }
          piece += part.readableBytesView
          guard piece.count >= pieceBytes else { continue }
          incoming = try await write(piece, to: incoming, progress)
          piece = []
        }
        if !piece.isEmpty { incoming = try await write(piece, to: incoming, progress) }
      } catch let error as WeirError {
        return .failure(.log(error))
      } catch {
        return .failure(Task.isCancelled ? .tooSlow : .ended)
      }
      // A sequence that is cancelled may just end: half a body must not pass for a whole one.
      return Task.isCancelled ? .failure(.tooSlow) : .success((incoming, checksum.value))
    }

    private static func write(
      _ piece: [UInt8], to incoming: IncomingSegment, _ progress: Progress
    ) async throws(WeirError) -> IncomingSegment {
      progress.beginWrite()
      defer { progress.endWrite() }
      return try await onDiskThread { () throws(WeirError) in
        var incoming = incoming
        try incoming.append(piece)
        return incoming
      }
    }

    // MARK: Answers

    private func answer(to problem: Problem) -> Answer {
      switch problem {
      case .tooLarge: .text(413, "a segment has at most \(bytesLimit) bytes here\n").closing()
      case .tooSlow: .text(408, "the segment took too long to come\n").closing()
      case .ended: .text(400, "the segment ended early\n").closing()
      case .busy: .text(503, "too many segments at a time\n").retry(after: 1).closing()
      case .digest: .text(400, "the body is not what its Content-Digest says; send it again\n").closing()
      case .log(let error):
        switch error.code {
        case .invalid: .text(422, "the segment is not whole: \(error.message)\n")
        // The segment is right, so its source must keep it until this program is newer.
        case .version: .text(415, "\(error.message)\n")
        case .unsafe: .text(409, "\(error.message)\n")
        // The body may not have come to its end.
        case .noSpace: .text(507, "\(error.message)\n").retry(after: 5).closing()
        default: .text(503, "\(error.message)\n").retry(after: 1).closing()
        }
      }
    }
  }
#endif

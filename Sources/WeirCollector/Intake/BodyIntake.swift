// BodyIntake: reads a request's body within its limits of size, memory and time.

#if Collector
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import NIOHTTPTypes
  import Synchronization

  /// Why a body was not read.
  enum IntakeProblem: Error {
    case tooLarge(limit: Int)
    /// It took too long to come.
    case tooSlow
    /// Its JSON has more values than a request may have.
    case tooManyValues
    /// Others take all the memory that there is for bodies.
    case busy
    /// What it is packed with is not known here.
    case encoding(String)
    /// It is not what it says that it is packed with.
    case damaged
    /// The client went away in the middle.
    case ended
  }

  /// Reads bodies. What all of them take in memory is bounded.
  final class BodyIntake: Sendable {
    /// How much of a refused body is read, in bodies of the largest size.
    private static let discardedBodies = 4

    private let bytesLimit: Int
    private let bufferedLimit: Int
    private let time: Duration
    private let buffered = Atomic<Int>(0)
    /// What is being read from bodies, in values.
    private let values = Atomic<Int>(0)

    init(_ configuration: Collector.Configuration) {
      bytesLimit = configuration.maximumBodyBytes
      bufferedLimit = configuration.maximumBufferedBytes
      // A clock can't count further: "for ever" would end the process.
      time = min(configuration.requestTime, Collector.Configuration.longest)
    }

    /// What the bodies that are being read, or used, take.
    var bufferedBytes: Int { buffered.load(ordering: .relaxed) }

    /// The body, unpacked. It counts against the memory for bodies until `release` is called with its size.
    ///
    /// A client that waits for word before it sends the body is told over the connection to go on, but for a body that
    /// is refused for its head.
    func read(_ request: Request, over connection: any Channel) async throws(IntakeProblem) -> [UInt8] {
      let encoding = request.headers[.contentEncoding]?.lowercased() ?? "identity"
      guard ["identity", "", "gzip", "x-gzip"].contains(encoding) else {
        await discard(request)
        throw .encoding(encoding)
      }
      if let announced = request.headers[.contentLength].flatMap({ Int($0) }), announced > bytesLimit {
        await discard(request)
        throw .tooLarge(limit: bytesLimit)
      }
      if request.expectsContinue { try await goOn(connection) }
      let packed = try await collect(request.body)
      guard encoding.hasSuffix("gzip") else { return packed }
      defer { release(packed.count) }
      do throws(GunzipError) {
        let body = try Gunzip.unpack(packed, limit: bytesLimit)
        // Taken after the fact: at most one body above the limit for each thread that unpacks.
        try keep(body.count, beside: packed.count)
        return body
      } catch {
        switch error {
        case .tooLarge: throw .tooLarge(limit: bytesLimit)
        case .damaged: throw .damaged
        case .busy: throw .busy
        }
      }
    }

    private func goOn(_ connection: any Channel) async throws(IntakeProblem) {
      do {
        try await connection.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
      } catch {
        throw .ended
      }
    }

    private func keep(_ bytes: Int, beside packed: Int) throws(GunzipError) {
      let total = buffered.wrappingAdd(bytes, ordering: .relaxed).newValue
      guard total - packed <= bufferedLimit else {
        release(bytes)
        throw .busy
      }
    }

    /// Takes memory for the values that a body is read into, before it is; false if others have too much of it. It is
    /// free again when `releaseValues` is called with the same number. A body that is alone is always read: what one
    /// may take is bounded by ``VendorLimits/values``.
    func takeValues(_ count: Int) -> Bool {
      let total = values.wrappingAdd(count, ordering: .relaxed).newValue
      guard total > count, total > bufferedLimit / JSONSize.bytesOfValue else { return true }
      releaseValues(count)
      return false
    }

    func releaseValues(_ count: Int) {
      values.wrappingSubtract(count, ordering: .relaxed)
    }

    /// The memory of a body that `read` answered is free again.
    func release(_ bytes: Int) {
      buffered.wrappingSubtract(bytes, ordering: .relaxed)
    }

    /// Reads a body that nobody wants, within bounds: a client that is in the middle of sending sees the answer only
    /// after that; one that waits for word sees it at once. In place of `read`, for a body can be read once.
    func discard(_ request: Request) async {
      guard !request.expectsContinue else { return }
      let limit = Self.discardedBodies * bytesLimit
      _ = await withDeadline(min(time, .seconds(5))) {
        var count = 0
        do {
          for try await part in request.body {
            count += part.readableBytes
            if count > limit { break }
          }
        } catch {}
        return true
      }
    }

    private func collect(_ body: RequestBody) async throws(IntakeProblem) -> [UInt8] {
      let result = await withDeadline(time) { [self] in await collected(body) }
      return try (result ?? .failure(.tooSlow)).get()
    }

    /// Reads a body to its end, or until its task is cancelled. What is too much of it is read and thrown away.
    private func collected(_ body: RequestBody) async -> Result<[UInt8], IntakeProblem> {
      var bytes: [UInt8] = []
      var discarded = 0
      var problem: IntakeProblem?
      do {
        for try await part in body {
          if problem != nil {
            discarded += part.readableBytes
            if discarded > Self.discardedBodies * bytesLimit { break }
            continue
          }
          let total = buffered.wrappingAdd(part.readableBytes, ordering: .relaxed).newValue
          bytes.append(contentsOf: part.readableBytesView)
          if bytes.count > bytesLimit {
            problem = .tooLarge(limit: bytesLimit)
          } else if total > bufferedLimit {
            problem = .busy
          }
          if problem != nil {
            release(bytes.count)
            bytes = []
          }
        }
        // A sequence that is cancelled may just end: half a body must not pass for a whole one.
        if problem == nil, Task.isCancelled { problem = .tooSlow }
      } catch {
        if problem == nil { problem = Task.isCancelled ? .tooSlow : .ended }
      }
      guard let problem else { return .success(bytes) }
      release(bytes.count)
      return .failure(problem)
    }

    /// What `work` answers, which is cancelled after that time, and then waited for.
    private func withDeadline<Value: Sendable>(
      _ time: Duration, _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
      await withTaskGroup(of: Value?.self) { group in
        group.addTask { await work() }
        group.addTask {
          try? await Task.sleep(for: time)
          return nil
        }
        guard let first = await group.next() else { return nil }
        group.cancelAll()
        if let first { return first }
        // The work's own word on how far it came.
        return await group.next() ?? nil
      }
    }
  }

  extension Request {
    /// The client sends the body when it is told to go on, and not before.
    fileprivate var expectsContinue: Bool { headers[.expect]?.lowercased() == "100-continue" }
  }
#endif

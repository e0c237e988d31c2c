// BodyIntake: reads a request's body within its limits of size, memory and time.

#if Collector
  import Hummingbird
  import Synchronization

  /// Why a body was not read.
  enum IntakeProblem: Error {
    case tooLarge(limit: Int)
    /// It took too long to come.
    case tooSlow
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

    init(_ configuration: Collector.Configuration) {
      bytesLimit = configuration.maximumBodyBytes
      bufferedLimit = configuration.maximumBufferedBytes
      time = configuration.requestTime
    }

    /// What the bodies that are being read, or used, take.
    var bufferedBytes: Int { buffered.load(ordering: .relaxed) }

    /// The body, unpacked. It counts against the memory for bodies until `release` is called with its size.
    func read(_ request: Request) async throws(IntakeProblem) -> [UInt8] {
      let encoding = request.headers[.contentEncoding]?.lowercased() ?? "identity"
      guard ["identity", "", "gzip", "x-gzip"].contains(encoding) else {
        await discard(request)
        throw .encoding(encoding)
      }
      if let announced = request.headers[.contentLength].flatMap({ Int($0) }), announced > bytesLimit {
        await discard(request)
        throw .tooLarge(limit: bytesLimit)
      }
      let packed = try await collect(request.body)
      guard encoding.hasSuffix("gzip") else { return packed }
      defer { release(packed.count) }
      do throws(GunzipError) {
        let body = try Gunzip.unpack(packed, limit: bytesLimit)
        // Taken after the fact: at most one body above the limit for each request that is unpacked at a time.
        buffered.wrappingAdd(body.count, ordering: .relaxed)
        return body
      } catch {
        switch error {
        case .tooLarge: throw .tooLarge(limit: bytesLimit)
        case .damaged: throw .damaged
        }
      }
    }

    /// The memory of a body that `read` answered is free again.
    func release(_ bytes: Int) {
      buffered.wrappingSubtract(bytes, ordering: .relaxed)
    }

    /// Reads a body that nobody wants, within bounds: a client that is in the middle of sending sees the answer only
    /// after that. In place of `read`, for a body can be read once.
    func discard(_ request: Request) async {
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
#endif

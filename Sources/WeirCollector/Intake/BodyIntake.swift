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
    private let bytesLimit: Int
    private let bufferedLimit: Int
    private let time: Duration
    private let buffered = Atomic<Int>(0)

    init(_ configuration: Collector.Configuration) {
      bytesLimit = configuration.maximumBodyBytes
      bufferedLimit = configuration.maximumBufferedBytes
      time = configuration.requestTime
    }

    /// The body, unpacked. It counts against the memory for bodies until `release` is called with its size.
    func read(_ request: Request) async throws(IntakeProblem) -> [UInt8] {
      let encoding = request.headers[.contentEncoding]?.lowercased() ?? "identity"
      guard ["identity", "", "gzip", "x-gzip"].contains(encoding) else { throw .encoding(encoding) }
      if let announced = request.headers[.contentLength].flatMap({ Int($0) }), announced > bytesLimit {
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

    /// Reads what is still to come of a refused body, within bounds: a client that is in the middle of sending sees the
    /// answer only after that.
    func discard(_ request: Request) async {
      let limit = 4 * bytesLimit
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
      let (bytesLimit, bufferedLimit) = (bytesLimit, bufferedLimit)
      let result = await withDeadline(time) { [self] () async -> Result<[UInt8], IntakeProblem> in
        var bytes: [UInt8] = []
        do {
          for try await part in body {
            let total = buffered.wrappingAdd(part.readableBytes, ordering: .relaxed).newValue
            bytes.append(contentsOf: part.readableBytesView)
            if bytes.count > bytesLimit { return failed(.tooLarge(limit: bytesLimit), bytes.count) }
            if total > bufferedLimit { return failed(.busy, bytes.count) }
          }
        } catch {
          return failed(.ended, bytes.count)
        }
        // A sequence that is cancelled just ends: half a body must not pass for a whole one.
        return Task.isCancelled ? failed(.tooSlow, bytes.count) : .success(bytes)
      }
      return try (result ?? .failure(.tooSlow)).get()
    }

    private func failed(_ problem: IntakeProblem, _ bytes: Int) -> Result<[UInt8], IntakeProblem> {
      release(bytes)
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

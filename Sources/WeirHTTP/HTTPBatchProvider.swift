// HTTPBatchProvider: batch segments over HTTP, as the files they are.

#if HTTP
  import Logging
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  public import WeirDelivery
  public import Weir

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Delivers batch segments over HTTP: each with one PUT, to another Weir (`weir collect`) or to any server that
  /// stores what is put.
  ///
  /// ```swift
  /// let archive = try HTTPBatchProvider("https://weir.example.com/batches", authorization: .bearer(token))
  /// try dispatcher.add(batchesTo: archive, options: .asCaptured)
  /// ```
  ///
  /// **The request.** The address is the endpoint's, followed by `BatchSegment.fileName`. The body is the file, sent in
  /// pieces of a MiB. The headers: `Content-Type: application/octet-stream`; `Content-Digest: crc32c=:…:` (RFC 9530)
  /// with the checksum of the body; and `Weir-Opening` in 16 hexadecimal digits, `Weir-Offsets: FIRST-LAST` and
  /// `Weir-Events`.
  ///
  /// **The answer.**
  ///
  /// | status | meaning |
  /// |---|---|
  /// | 200–299 | accepted; but a web page is another server's, and is retried |
  /// | 422 | rejected: the segment is damaged; its events go to the dead letters |
  /// | 409 | the endpoint has another segment of that name, of a copy of the log: `DeliveryStopped` |
  /// | 413 | the endpoint takes no file of this size: `DeliveryStopped` |
  /// | 415, 501, 505 | the endpoint takes no such files: `DeliveryStopped` |
  /// | 400, 408, 425, 429, other errors from 500 on | retry, not before `Retry-After` |
  /// | any other | `DeliveryStopped` |
  ///
  /// ``HTTPConfiguration/statusRules`` come first. The same segment may be put more than once, after a kill or an
  /// answer that was lost, always with the same content.
  ///
  /// **Threads and security** are those of ``HTTPProvider``. There is no failover.
  public final class HTTPBatchProvider: BatchProvider, Sendable {
    public let name: String

    private let endpoint: HTTPEndpoint
    private let headers: [HTTPHeader]
    private let configuration: HTTPConfiguration
    private let transport: HTTPTransport
    private let scrubber: Scrubber

    /// Creates a provider for an endpoint. Makes no connection.
    ///
    /// - Parameters:
    ///   - endpoint: An `http` or `https` URL. An address without a path gets `/batches`, the path of `weir collect`.
    ///   - name: The name of the provider and its cursor.
    ///   - authorization: A header with the key; `nil` for none.
    ///   - configuration: The options for connecting and sending. `nil` for the usual ones, with a
    ///     ``HTTPConfiguration/timeout`` of 4 minutes and a ``HTTPConfiguration/readTimeout`` of one, because files are
    ///     larger than batches of events, and the other side checks them before it answers.
    ///
    /// Throws `invalid` if the address is invalid, the name can't be a cursor's name, a request can't carry a header,
    /// or the configuration has a failover.
    public init(
      _ endpoint: String, name: String = "batches", authorization: HTTPHeader? = nil,
      configuration: HTTPConfiguration? = nil
    ) throws(WeirError) {
      try Cursor.checkProviderName(name)
      self.name = name
      self.endpoint = try HTTPEndpoint(endpoint, defaultPath: "/batches")
      let configuration = configuration ?? Self.usualConfiguration
      guard configuration.failover == nil else {
        throw WeirError(.invalid, "batch segments have no failover; leave it out of the configuration of \(name)")
      }
      self.configuration = configuration
      headers = [authorization].compactMap { $0 }
      let all = headers + configuration.headers + [self.endpoint.authorization].compactMap { $0 }
      for header in all where !header.isSendable {
        throw WeirError(
          .invalid,
          "the header \(header.name.debugDescription) contains a line break or another control character; set only the "
            + "key")
      }
      transport = HTTPTransport(configuration, shared: nil)
      let proxy = [configuration.proxy?.password].compactMap { $0 }
      scrubber = Scrubber(self.endpoint.secrets + all.filter(\.isConfidential).flatMap(\.secrets) + proxy)
    }

    private static var usualConfiguration: HTTPConfiguration {
      var configuration = HTTPConfiguration()
      configuration.timeout = .seconds(240)
      configuration.readTimeout = .seconds(60)
      return configuration
    }

    public func deliver(_ segment: BatchSegment) async throws -> Verdict {
      do {
        return scrubber.clean(try await put(segment))
      } catch {
        throw scrubber.clean(error)
      }
    }

    public func shutdown() async {
      await transport.shutdown()
    }

    private func put(_ segment: BatchSegment) async throws -> Verdict {
      let (file, checksum) = try await onDiskThread { () throws(WeirError) in
        let file = try SegmentBody(segment)
        return (file, try file.checksum())
      }
      let digest = withUnsafeBytes(of: checksum.bigEndian) { Data($0).base64EncodedString() }
      let last = segment.offsets.upperBound - (segment.offsets.isEmpty ? 0 : 1)
      let described = [
        HTTPHeader.content("application/octet-stream"), HTTPHeader("content-digest", "crc32c=:\(digest):"),
        HTTPHeader("weir-opening", SegmentFile.name(ofLog: segment.opening)),
        HTTPHeader("weir-offsets", "\(segment.offsets.lowerBound)-\(last)"),
        HTTPHeader("weir-events", "\(segment.eventCount)"),
      ]
      let answer = try await transport.put(file, to: endpoint, path: segment.fileName, headers: described + headers)
      return try verdict(answer, segment)
    }

    private func verdict(_ answer: HTTPAnswer, _ segment: BatchSegment) throws -> Verdict {
      switch configuration.statusRules.meaning(of: answer.status) {
      case .accept?: return .accepted
      case .retry?: return try retry(answer)
      case .reject?: return .rejected(answer.summary)
      case .stop?: throw DeliveryStopped("the status rules stop delivery at this answer (\(answer.summary))")
      case nil: break
      }
      switch answer.status {
      case 422: return .rejected(answer.summary)
      case 413:
        throw DeliveryStopped(
          "\(endpoint) takes no segment of \(segment.byteCount) bytes (\(answer.summary)); raise its limit, or make "
            + "segments smaller (Tracker.Configuration.segmentBytes)")
      case 415:
        throw DeliveryStopped(
          "\(endpoint) does not know the format of the segment \(segment.fileName) (\(answer.summary)); update what "
            + "answers there")
      case 409:
        throw DeliveryStopped(
          "\(endpoint) has another segment of the name \(segment.fileName) (\(answer.summary)); a copy of the log was "
            + "delivered there, so give each copy an address of its own")
      case 400, 408, 425, 429, 500, 502...504, 506...599: return try retry(answer)
      default: break
      }
      do {
        _ = try answer.standardReading(of: HTTPBatch(events: [], encoded: []))
        return .accepted
      } catch let refused as BatchRefused {
        throw DeliveryStopped("\(endpoint) takes no batch segments (\(refused.reason)); set the right address")
      }
    }

    private func retry(_ answer: HTTPAnswer) throws -> Verdict {
      if let after = answer.retryAfter { return .retry(after: after) }
      throw HTTPFailure(answer.summary)
    }
  }

  /// The bytes of a segment's file, as the body of a request. Each iteration reads the file from its beginning.
  struct SegmentBody: AsyncSequence, Sendable {
    private static let pieceBytes = 1 << 20

    let byteCount: Int
    private let file: Descriptor

    init(_ segment: BatchSegment) throws(WeirError) {
      byteCount = segment.byteCount
      let slash = segment.path.lastIndex(of: "/") ?? segment.path.startIndex
      let calls = SystemCalls()
      let directory = try calls.openDirectory(String(segment.path[..<slash]))
      let name = String(segment.path[segment.path.index(after: slash)...])
      guard let file = try calls.open(name, in: directory, forWriting: false) else {
        throw WeirError(.missing, "\(segment.path) is gone", path: segment.path)
      }
      self.file = file
    }

    /// The CRC32C of the whole file.
    func checksum() throws(WeirError) -> UInt32 {
      var checksum = CRC32C()
      var place = 0
      while let piece = try Self.piece(of: file, at: place, byteCount) {
        piece.withUnsafeBytes { checksum.add($0) }
        place += piece.count
      }
      return checksum.value
    }

    fileprivate static func piece(of file: Descriptor, at place: Int, _ byteCount: Int) throws(WeirError) -> [UInt8]? {
      guard place < byteCount else { return nil }
      let bytes = try SystemCalls().read(file, Swift.min(pieceBytes, byteCount - place), at: place)
      guard !bytes.isEmpty else { throw WeirError(.io, "\(file.path) became shorter", path: file.path) }
      return bytes
    }

    struct AsyncIterator: AsyncIteratorProtocol {
      let file: Descriptor
      let byteCount: Int
      var place = 0

      mutating func next() async throws -> ByteBuffer? {
        guard place < byteCount else { return nil }
        let bytes = try await onDiskThread { [self] () throws(WeirError) in
          try SegmentBody.piece(of: file, at: place, byteCount)
        }
        guard let bytes else { return nil }
        place += bytes.count
        return ByteBuffer(bytes: bytes)
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file, byteCount: byteCount) }
  }

  extension HTTPTransport {
    /// Puts a file at a path below an endpoint. Follows no redirects. Throws as ``send(_:to:compress:)``.
    func put(
      _ body: SegmentBody, to endpoint: HTTPEndpoint, path: String, headers added: [HTTPHeader]
    ) async throws -> HTTPAnswer {
      let client = try current()
      var request = HTTPClientRequest(url: endpoint.url(below: path))
      request.method = .PUT
      request.headers = headers(of: HTTPPost(headers: added, body: []), to: endpoint, isCompressed: false)
      request.body = .stream(body, length: .known(Int64(body.byteCount)))
      return try await exchange(request, with: endpoint, by: client)
    }
  }
#endif

// AnswerGuard: fails a request whose answer would make async-http-client end the process.

#if HTTP
  public import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1

  /// Passes on an answer's parts in the order of HTTP/1.1: heads with a status of 100 to 199, one head with a status
  /// from 200 on, the body, the end. Anything else fails the request, and the connection passes on nothing more.
  ///
  /// async-http-client 1.37.0 ignores every head below 200 except 101, and ends the process if an answer ends without
  /// any other head. NIO treats a status from 000 to 099 as that of a complete answer.
  final class AnswerGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// Whether a head from 200 on has passed, and the end has not.
    private var isInAnswer = false
    private var isBroken = false

    /// Adds a guard behind the handlers that parse an HTTP/1.1 connection.
    static func add(to channel: any Channel) -> EventLoopFuture<Void> {
      channel.eventLoop.submit {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        try pipeline.addHandler(AnswerGuard(), position: .after(decoder))
      }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isBroken else { return }
      do throws(HTTPFailure) {
        try look(at: unwrapInboundIn(data))
        context.fireChannelRead(data)
      } catch {
        isBroken = true
        context.fireErrorCaught(error)
      }
    }

    private func look(at part: HTTPClientResponsePart) throws(HTTPFailure) {
      switch part {
      case .head(let head):
        let status = head.status.code
        if (100..<200).contains(status), status != 101 { return }
        guard status >= 200, !isInAnswer else {
          throw HTTPFailure("an answer with the unexpected status \(status)")
        }
        isInAnswer = true
      case .body, .end:
        guard isInAnswer else { throw HTTPFailure("an answer without a status") }
        if case .end = part { isInAnswer = false }
      }
    }
  }

  extension HTTPProvider {
    /// Returns the same settings for a client that no answer can end the process with.
    ///
    /// In async-http-client 1.37.0, an answer with a status below 100, which any server may send, ends the process. A
    /// client with the returned settings fails the request instead. It uses HTTP/1.1 only, because the same is possible
    /// over HTTP/2. The clients that a provider creates itself have these settings. A client that you pass to a
    /// provider should have them too:
    ///
    /// ```swift
    /// let client = HTTPClient(configuration: HTTPProvider.hardened(HTTPClient.Configuration()))
    /// ```
    public static func hardened(_ configuration: HTTPClient.Configuration) -> HTTPClient.Configuration {
      var hardened = configuration
      hardened.httpVersion = .http1Only
      let before = configuration.http1_1ConnectionDebugInitializer
      hardened.http1_1ConnectionDebugInitializer = { channel in
        let isPrepared = before?(channel) ?? channel.eventLoop.makeSucceededVoidFuture()
        return isPrepared.flatMap { AnswerGuard.add(to: channel) }
      }
      return hardened
    }
  }
#endif

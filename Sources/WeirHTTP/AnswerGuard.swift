// AnswerGuard: fails a request whose answer async-http-client can't take without ending the process.

#if HTTP
  public import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1

  /// Lets an answer's parts through in the order of HTTP/1.1: heads of 100 to 199, one head from 200 on, the body, the
  /// end. Anything else fails the request, and nothing of that connection comes through any more.
  ///
  /// async-http-client 1.37.0 passes over every head below 200 but 101, and ends the process where the end of an answer
  /// comes that had no other head. NIO takes a status from 000 to 099 for that of a whole answer.
  final class AnswerGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// Behind a head from 200 on, before the end.
    private var isInAnswer = false
    private var isBroken = false

    /// Puts a guard behind what reads the bytes of a connection of HTTP/1.1.
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
          throw HTTPFailure("an answer with the status \(status), which means nothing here")
        }
        isInAnswer = true
      case .body, .end:
        guard isInAnswer else { throw HTTPFailure("an answer without a status") }
        if case .end = part { isInAnswer = false }
      }
    }
  }

  extension HTTPProvider {
    /// The same settings, for a client that no answer ends the program with.
    ///
    /// An answer with a status below 100, which any server may give, ends a program that uses async-http-client 1.37.0.
    /// A client of these settings fails the request instead, and speaks HTTP/1.1 alone, for the same can be done over
    /// HTTP/2. The clients that a provider makes for itself are so; one that is given to it ought to be:
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

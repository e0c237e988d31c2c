// KeepAliveHandler: ends connections as HTTP/1.0 and clients want them to end, and says so in the answer.

#if Collector
  import NIOCore
  import NIOHTTP1

  /// Stands between the reader of a connection's bytes and Hummingbird, which ends a connection for the one word
  /// `close` and does not say so.
  final class KeepAliveHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private struct Pending {
      /// The connection ends behind the answer.
      var closes: Bool
      /// The client waits for `100 Continue` before it sends the body.
      var waits: Bool
    }

    /// What stands for the requests that have no whole answer yet, the oldest first.
    private var pending: [Pending] = []

    /// Puts a handler where it belongs in a connection that it is added to.
    final class Installer: ChannelInboundHandler, RemovableChannelHandler {
      typealias InboundIn = Any

      func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
          let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
          try pipeline.addHandler(KeepAliveHandler(), position: .after(decoder))
        } catch {
          context.fireErrorCaught(error)
        }
      }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
      // A client of HTTP/1.0 does not know the answer 100.
      if head.version == .http1_0 { head.headers.remove(name: "expect") }
      let request = Pending(closes: !head.isKeepAlive, waits: head.headers.expectsContinue)
      if request.closes { head.headers.replaceOrAdd(name: "connection", value: "close") }
      pending.append(request)
      context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard let request = pending.first else { return context.write(data, promise: promise) }
      switch unwrapOutboundIn(data) {
      case .head(let head) where head.status == .continue:
        pending[0].waits = false
        context.write(data, promise: promise)
      case .head(var head):
        if request.closes || request.waits { head.headers.replaceOrAdd(name: "connection", value: "close") }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
      case .body: context.write(data, promise: promise)
      case .end:
        pending.removeFirst()
        guard request.waits else { return context.write(data, promise: promise) }
        // Whether the body still comes nobody knows, so what comes next can't be told from it.
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(data, promise: written)
      }
    }
  }

  extension HTTPHeaders {
    fileprivate var expectsContinue: Bool { first(name: "expect")?.lowercased() == "100-continue" }
  }
#endif

// Responses: answers on their way out, whole or with a fault in them.

#if Collector
  import HTTPTypes
  import Hummingbird
  import NIOCore
  import Weir

  extension CollectorServer {
    /// Ends a connection from within an answer.
    private struct ConnectionEnds: Error {}

    /// The answer, with what a fault makes of it.
    func response(_ answer: Answer, with fault: DrawnFault?, _ context: CollectorContext) async -> Response {
      switch fault?.kind {
      case .slow(let time):
        try? await Task.sleep(for: time)
        return response(answer)
      case .dropAnswer:
        context.channel.close(promise: nil)
        return response(answer)
      case .cut: return cut(answer)
      case .garbage:
        var garbage = answer
        var chance = Chance(seed: fault?.seed ?? 0)
        garbage.body = (0..<64).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
        return response(garbage)
      case .stranger: return response(Stranger.answer(answer))
      default: return response(answer)
      }
    }

    /// The answer as it is.
    func response(_ answer: Answer) -> Response {
      var response = head(answer)
      guard answer.closes else {
        response.body = ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body))
        return response
      }
      response.headers[.connection] = "close"
      response.body = ResponseBody(contentLength: answer.body.count) { writer in
        try await writer.write(ByteBuffer(bytes: answer.body))
        try await writer.finish(nil)
        throw ConnectionEnds()
      }
      return response
    }

    /// The answer with its first half, and the length of the whole.
    private func cut(_ answer: Answer) -> Response {
      // An empty body has no middle: it is announced, and does not come.
      let body = answer.body.isEmpty ? Array("{\"success\":true}".utf8) : answer.body
      var response = head(answer)
      response.body = ResponseBody(contentLength: body.count) { writer in
        try await writer.write(ByteBuffer(bytes: body[..<(body.count / 2)]))
        throw ConnectionEnds()
      }
      return response
    }

    private func head(_ answer: Answer) -> Response {
      var response = Response(status: .init(code: answer.status, reasonPhrase: Answer.words(answer.status)))
      for (name, value) in answer.headers {
        if let field = HTTPField.Name(name) { response.headers[field] = value }
      }
      return response
    }
  }
#endif

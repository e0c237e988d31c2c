// Listening to join points, for the tests of what the macros' code tells.

#if Macros
  import Synchronization
  import Weir
  import WeirAspects

  /// What was heard, in order. Advice may come from any thread.
  final class Heard: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func note(_ text: String) { texts.withLock { $0.append(text) } }
  }

  /// Calls `body`, and answers what hooks on every call of the join point heard meanwhile: the parameters before, and
  /// the parameters with what was returned or thrown after.
  func heard<Owner, Parameters, Returned>(
    of joinPoint: borrowing JoinPoint<Owner, Parameters, Returned>, _ body: () throws -> Void
  ) rethrows -> [String] {
    let heard = Heard()
    let hooks = [
      joinPoint.before(.everything) { _, call in heard.note("\(call)") },
      joinPoint.after(.everything) { _, call, outcome in heard.note("\(call) \(text(of: outcome))") },
    ]
    defer { for hook in hooks { hook.detach() } }
    try body()
    return heard.all
  }

  /// The same of what waits.
  func heard<Owner, Parameters, Returned>(
    of joinPoint: borrowing JoinPoint<Owner, Parameters, Returned>, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Void
  ) async rethrows -> [String] {
    let heard = Heard()
    let hooks = [
      joinPoint.before(.everything) { _, call in heard.note("\(call)") },
      joinPoint.after(.everything) { _, call, outcome in heard.note("\(call) \(text(of: outcome))") },
    ]
    defer { for hook in hooks { hook.detach() } }
    try await body()
    return heard.all
  }

  private func text<Returned>(of outcome: Hook.Outcome<Returned>) -> String {
    if let error = outcome.threw { "!! \(error)" } else { outcome.returned.map { "-> \($0)" } ?? "-> unknown" }
  }
#endif

// Join points for types of other packages: subclasses of their classes, witnesses of their protocols, and types that
// wrap theirs.

#if Macros
  import Foundation
  import Testing
  import Weir
  import WeirAspects

  /// `Operation` is a class of Foundation, and knows nothing of join points.
  @Instrumented
  private class Work: Operation, @unchecked Sendable {
    @JoinPoint(root: true) override func main() {}
    @JoinPoint("cancelled", root: true) override func cancel() { super.cancel() }
    override var isReady: Bool { @JoinPoint("ready", root: true) get { super.isReady } }
    func retry(_ times: Int) -> Int { times }
  }

  @Instrumented
  private final class Upload: Work, @unchecked Sendable {
    override func main() { super.main() }
  }

  private protocol Router<Route> {
    associatedtype Route: Sendable
    var name: String { get }
    func route(_ path: Route) async throws -> String
    static func make() -> Self
  }
  extension Router {
    func routed(_ path: Route) async -> String { (try? await route(path)) ?? "none" }
  }

  private struct Refused: Error {}

  @Instrumented
  private struct Direct: Router {
    var name: String { @JoinPoint("name") get { "direct" } }
    func route(_ path: String) throws -> String {
      if path.isEmpty { throw Refused() }
      return "to " + path
    }
    static func make() -> Direct { Direct() }
  }

  /// The witness is in an extension.
  private struct Late { var hops = 1 }
  extension Late: Router {
    var name: String { "late" }
    @JoinPoint func route(_ path: Int) async -> String { "\(path + hops)" }
    static func make() -> Self { Self() }
  }

  /// Nothing of it is instrumented, as if another package had it.
  private struct Foreign: Router {
    var name: String { "foreign" }
    func route(_ path: Int) -> String { "\(path)" }
    static func make() -> Foreign { Foreign() }
  }

  @Instrumented
  private struct Traced<Base: Router>: Router {
    let base: Base

    var name: String { base.name }
    func route(_ path: Base.Route) async throws -> String { try await base.route(path) }
    static func make() -> Traced { Traced(base: Base.make()) }
  }

  /// One at a time: hooks on every call hear those of other tests, too.
  @Suite(.serialized) struct ForeignTypeTests {
    @Test func `a subclass of another package's class is heard where its framework calls it`() {
      let heard = Heard()
      let hooks = [
        Work.JoinPoints.main.before(.everything) { work, _ in heard.note("main of \(type(of: work))") },
        Work.JoinPoints.main.before(.exactly(Upload.self)) { _, _ in heard.note("upload") },
        Work.JoinPoints.cancelled.before(.everything) { work, _ in heard.note("cancel \(work.isCancelled)") },
      ]
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      queue.addOperations([Work(), Upload()], waitUntilFinished: true)
      Work().cancel()
      for hook in hooks { hook.detach() }
      #expect(heard.all == ["main of Work", "main of Upload", "upload", "cancel false"])
      #expect(self.heard(Work.JoinPoints.ready) { _ = Work().isReady }.last == "() -> true")
      #expect(self.heard(Work.JoinPoints.retry) { _ = Upload().retry(2) }.last == "(times: 2, ()) -> 2")
    }

    @Test func `a witness is heard through its protocol`() async throws {
      func name(_ router: any Router) -> String { router.name }
      func make<R: Router>(_: R.Type) -> R { R.make() }
      let direct: any Router<String> = Direct()
      #expect(heard(Direct.JoinPoints.name) { _ = name(direct) }.last == "() -> direct")
      #expect(heard(Direct.JoinPoints.make) { _ = make(Direct.self) }.count == 2)
      #expect(
        try await WeirMacrosTests.heard(of: Direct.JoinPoints.route) { _ = try await direct.route("a") }.last
          == "(path: \"a\", ()) -> to a")
      #expect(
        await WeirMacrosTests.heard(of: Direct.JoinPoints.route) { _ = await Direct().routed("") }.last
          == "(path: \"\", ()) !! Refused()")
      #expect(
        await WeirMacrosTests.heard(of: Late.routeJoinPoint) { _ = await Late().routed(1) }.last
          == "(path: 1, ()) -> 2")
    }

    @Test func `a type that wraps another package's type is heard in its place`() async throws {
      func use<R: Router>(_ router: R, _ path: R.Route) async -> String { await router.routed(path) }
      let heard = Heard()
      let hook = TracedJoinPoints.route.after(.everything) { traced, call, outcome in
        heard.note("\(traced is Traced<Foreign>) \(call.path) \(outcome.returned ?? "")")
      }
      #expect(await use(Traced(base: Foreign()), 4) == "4")
      hook.detach()
      #expect(heard.all == ["true 4 4"])
    }

    private func heard<Owner, Parameters, Returned>(
      _ joinPoint: borrowing JoinPoint<Owner, Parameters, Returned>, _ body: () -> Void
    ) -> [String] { WeirMacrosTests.heard(of: joinPoint, body) }
  }
#endif

// hook-stress: threads that call, beside threads that attach and detach, judged to the last call.
//
//     hook-stress [--firings N] [--seed N] [--callers N] [--attachers N]
//
// What is held to be true:
// - no advice runs after its detach has returned, and what it holds is released by then (outside of a firing);
// - none runs with what it holds released, and at the end all of that is released, once;
// - a hook that is attached all the time hears each call that it is for, once, and no other;
// - hooks hear what was passed and returned, and only on those objects that they are for.
//
// A failure is repeated with its seed as far as threads can be: the seed says who does what, not when.

import Synchronization
import Weir
import WeirAspects

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

@main
enum HookStress {
  static let made = Atomic<Int>(0)
  static let isOver = Atomic<Bool>(false)

  static func main() {
    let options = Options(CommandLine.arguments)
    let plan = Plan(options)
    print("hook-stress: seed \(options.seed)")
    let witnesses = plan.attachWitnesses()
    let attachers = (0..<options.attachers).map { index in Thread(index) { plan.attachAndDetach($0) } }
    // In legs, so that threads come and go, and records of threads that ended are taken again.
    for leg in 0..<plan.legs { onThreads(options.callers) { plan.call(leg * options.callers + $0) } }
    isOver.store(true, ordering: .relaxed)
    for attacher in attachers { attacher.join() }
    var failures = plan.judge(witnesses)
    for witness in witnesses { witness.hook.detach() }
    for slot in plan.slots { slot.detach() }
    failures += judgeFaults()
    let heard = witnesses.map { "\($0.name) \($0.listener.heard.load(ordering: .relaxed))" }.joined(separator: ", ")
    print(
      "hook-stress: \(plan.calls.load(ordering: .relaxed)) calls, \(Listener.made.load(ordering: .relaxed)) hooks"
        + " attached and detached, \(failures) failures; heard all the time: \(heard)")
    exit(failures == 0 ? 0 : 1)
  }

  private static func judgeFaults() -> Int {
    let kinds = [
      ("ran after its detach had returned", Listener.faults.late.load(ordering: .relaxed)),
      ("ran with what it holds released", Listener.faults.dead.load(ordering: .relaxed)),
      ("held on to what it held when detach returned", Listener.faults.held.load(ordering: .relaxed)),
      ("heard what it should not", Listener.faults.wrong.load(ordering: .relaxed)),
    ]
    for (what, count) in kinds where count != 0 { print("FAILED: advice \(what): \(count) times") }
    return kinds.reduce(0) { $0 + $1.1 }
  }
}

/// What a run is to do.
struct Options: Sendable {
  var firings = 1_000_000
  var seed = UInt64.random(in: 0..<UInt64(UInt32.max))
  var callers = 4
  var attachers = 3

  init(_ arguments: [String]) {
    if let given = getenv("WEIR_SEED").flatMap({ UInt64(String(cString: $0)) }) { seed = given }
    var rest = arguments.dropFirst()
    while let name = rest.popFirst() {
      guard let text = rest.popFirst(), let value = UInt64(text), value > 0 || name == "--seed" else { usage() }
      switch name {
      case "--firings": firings = Int(value)
      case "--seed": seed = value
      case "--callers": callers = Int(value)
      case "--attachers": attachers = Int(value)
      default: usage()
      }
    }
  }

  private func usage() -> Never {
    print("usage: hook-stress [--firings N] [--seed N] [--callers N] [--attachers N]")
    exit(2)
  }
}

// Hooks and threads: detached from several at once, fired by many that come and go, in a child of a fork, and deep down.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir
import WeirAspects
import WeirScopes

extension AspectTests {
  @Suite struct Threads {
    @Test func `a hook may be detached from two threads at once`() {
      for _ in 0..<200 {
        let gone = Count()
        let late = Count()
        let isOver = Atomic<Bool>(false)
        let hook = { [held = Held(gone)] in
          Parent.lookPoint.before(.everything) { _, _ in
            held.use()
            if isOver.load(ordering: .relaxed) { late.up() }
          }
        }()
        onThreads(3) { index in
          for _ in 0..<20 { _ = Plain().look(0) }
          guard index > 0 else { return }
          hook.detach()
          #expect(!hook.isAttached)
        }
        isOver.store(true, ordering: .relaxed)
        _ = Plain().look(0)
        #expect(gone.value == 1)
        #expect(late.value == 0)
      }
    }

    /// A detach that returned waited for the advice that ran on another thread.
    @Test func `detach waits for advice of other threads`() {
      let isIn = DispatchSemaphore(value: 0)
      let goOn = DispatchSemaphore(value: 0)
      let isDone = Atomic<Bool>(false)
      let hook = Parent.lookPoint.before(.everything) { _, _ in
        isIn.signal()
        goOn.wait()
        isDone.store(true, ordering: .relaxed)
      }
      onThreads(3) { index in
        switch index {
        case 0: _ = Plain().look(0)
        case 1:
          isIn.wait()
          DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(30)) { goOn.signal() }
          hook.detach()
          let isRun = isDone.load(ordering: .relaxed)
          #expect(isRun)
        default: break
        }
      }
    }

    /// Two hooks that detach each other at once, each on a thread of its own, do not wait for each other.
    @Test func `advice that detaches one another does not lock`() {
      for _ in 0..<100 {
        let gone = Count()
        let hooks = Mutex<[Hook]>([])
        let made = (0..<2).map { index in
          { [held = Held(gone)] in
            Parent.lookPoint.before(.exactly([Plain.self, Sibling.self][index])) { _, _ in
              held.use()
              hooks.withLock { $0 }[1 - index].detach()
            }
          }()
        }
        hooks.withLock { $0 = made }
        onThreads(2) { index in _ = [Plain(), Sibling()][index].look(0) }
        _ = (Plain().look(0), Sibling().look(0))
        #expect(made.allSatisfy { !$0.isAttached } || made.contains { !$0.isAttached })
        for hook in made { hook.detach() }
        hooks.withLock { $0 = [] }
        #expect(gone.value == 2)
      }
    }

    /// What advice detached while another thread was firing is released when that one is done, by nobody else's doing.
    @Test func `a release that is put off is made by the last hook that fires`() {
      let isIn = DispatchSemaphore(value: 0)
      let goOn = DispatchSemaphore(value: 0)
      let gone = Count()
      let hook = { [held = Held(gone)] in
        Parent.lookPoint.before(.exactly(Plain.self)) { _, _ in
          held.use()
          isIn.signal()
          goOn.wait()
        }
      }()
      let detaching = Parent.lookPoint.before(.exactly(Sibling.self)) { _, _ in hook.detach() }
      onThreads(2) { index in
        if index == 0 {
          _ = Plain().look(0)
        } else {
          isIn.wait()
          _ = Sibling().look(0)
          #expect(gone.value == 0)
          #expect(!hook.isAttached)
          goOn.signal()
        }
      }
      #expect(gone.value == 1)
      detaching.detach()
    }

    /// To let a hook go waits for nobody, so it can be done under a lock that advice takes.
    @Test func `a hook that is let go of waits for nobody`() {
      let isIn = DispatchSemaphore(value: 0)
      let gone = Count()
      let slot = Mutex<Hook?>(nil)
      let made = { [held = Held(gone)] in
        Parent.lookPoint.before(.everything) { _, _ in
          held.use()
          isIn.signal()
          slot.withLock { _ in }
        }
      }()
      slot.withLock { $0 = made }
      weak let seen = made
      _ = consume made
      onThreads(2) { index in
        if index == 0 {
          _ = Plain().look(0)
        } else {
          slot.withLock { slot in
            isIn.wait()
            slot = nil
          }
        }
      }
      #expect(seen == nil)
      #expect(gone.value == 1)
    }

    @Test func `threads that come and go leave nothing behind`() {
      let count = Count()
      let hooks = [
        Parent.lookPoint.before(.everything) { _, _ in count.up() },
        Parent.lookPoint.after(.everything) { _, _, _ in count.up() },
      ]
      for _ in 0..<50 { onThreads(8) { _ in _ = Calling().look(0) } }
      #expect(count.value == 800)
      for hook in hooks { hook.detach() }
    }

    @Test func `each call of a deep recursion is heard`() {
      let before = Count()
      let after = Count()
      let hooks = [
        Parent.lookPoint.before(.everything) { _, _ in before.up() },
        Parent.lookPoint.after(.everything) { _, _, _ in after.up() },
      ]
      onThread { _ = Calling().look(2000) }
      #expect(before.value == 2001)
      #expect(after.value == 2001)
      for hook in hooks { hook.detach() }
    }

    /// Overrides of many objects inside of one another: the innermost still knows what came through `super`.
    @Test func `forty overrides inside of one another are told apart`() {
      final class Branch: Parent, @unchecked Sendable {
        var next: Parent?
        override func look(_ depth: Int) -> String {
          var weirCall = Self.lookPoint.call()
          if weirCall.isObserved { weirCall.begin(self, (depth: depth, ()), in: Branch.self) }
          defer { if weirCall.isObserved { weirCall.end(self) } }
          _ = next?.look(0)
          return weirCall.returned(super.look(0))
        }
      }
      let count = Count()
      let hook = Parent.lookPoint.before(.everything) { _, _ in count.up() }
      var outermost: Parent = Plain()
      for _ in 0..<40 {
        let branch = Branch()
        branch.next = outermost
        outermost = branch
      }
      _ = outermost.look(0)
      #expect(count.value == 41)
      hook.detach()
    }

    /// What the parent attached fires in the child, can be detached there, and nothing waits for threads that are gone.
    @Test func `a child of a fork hears, and may detach`() async {
      await #expect(processExitsWith: .success) {
        let count = Count()
        let gone = Count()
        let hook = { [held = Held(gone)] in
          Parent.lookPoint.before(.everything) { _, _ in
            held.use()
            count.up()
          }
        }()
        // Another thread is in the midst of firing at the fork, and is not there in the child.
        let isIn = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let other = Parent.lookPoint.before(.exactly(Sibling.self)) { _, _ in
          isIn.signal()
          goOn.wait()
        }
        let thread = Thread { _ = Sibling().look(0) }
        thread.start()
        isIn.wait()
        let isGood = try await isTrueInChild {
          guard hook.isAttached, count.value == 1 else { return false }
          _ = Plain().look(0)
          guard count.value == 2 else { return false }
          let late = Parent.lookPoint.before(.everything) { _, _ in count.up() }
          guard !late.isAttached else { return false }
          hook.detach()
          _ = Plain().look(0)
          return count.value == 2 && !hook.isAttached && gone.value == 1
        }
        goOn.signal()
        hook.detach()
        other.detach()
        exit(isGood ? EXIT_SUCCESS : EXIT_FAILURE)
      }
    }
  }
}

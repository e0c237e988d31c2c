// KillEverySystemCall.swift: the recorder and the recovery killed at their n-th call of each system call that changes
// what is on the disk, for every n there is (WEIR_LONG=1) or for a sample of them. Random moments find what takes long;
// this finds what takes no time. Needs strace, which injects the signal.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct KillEverySystemCall {
    static let calls = [
      "mkdir,mkdirat", "openat", "fallocate", "ftruncate", "pwrite64", "fdatasync", "fsync", "msync",
      "rename,renameat,renameat2", "unlink,unlinkat", "munmap", "fcntl", "futex",
    ]

    @Test func `a recovery may be killed at each of its system calls`() throws {
      guard Self.straceWorks() else { return }
      let scratch = try Scratch()
      let (life, before) = try Self.makeDeadLog(scratch)
      var kills = 0
      for call in Self.calls {
        for number in Self.numbers(for: call) {
          try? FileManager.default.removeItem(atPath: scratch("log"))
          try Files.copy(scratch("dead"), to: scratch("log"))
          let outcome = try Self.traced(call, number, ["recover", scratch("log")])
          if outcome.signal == nil, outcome.code == 0 { break }
          kills += 1
          var promise = Promise()
          let what = "recover killed at \(call) number \(number)"
          let between = try Tool.run("cat", scratch("log"))
          if between.code != 0 { promise.note("weir cat: \(between.code ?? -1) \(between.errors)") }
          Self.verify(scratch("log"), "verify of what the kill left", &promise)
          promise.compare(before: before, after: CatLine.rawLines(between.output), what)
          Self.recoverAndCompare(scratch("log"), before, [life], &promise)
          if !promise.problems.isEmpty {
            let name = "recover-\(call)-\(number)"
            let kept = Files.keepEvidence([scratch("dead"), scratch("log")], name: name, note: what)
            Issue.record("\(what): \(promise.problems.joined(separator: "\n"))\nevidence: \(kept)")
            break
          }
        }
      }
      Run.say("recovery killed at \(kills) system calls")
    }

    @Test func `a recording may be killed at each of its system calls`() throws {
      guard Self.straceWorks() else { return }
      let scratch = try Scratch()
      let input = try scratch.file("input", Numbered.lines(1...4000))
      var kills = 0
      for call in Self.calls {
        for number in Self.numbers(for: call) {
          try? FileManager.default.removeItem(atPath: scratch("log"))
          let options = ["--format", "lines", "--acknowledge", "--segment-bytes", "320K"]
          let outcome = try Self.traced(call, number, ["record", scratch("log"), input] + options)
          let life = Life(threads: 1, output: outcome.output)
          if outcome.signal == nil, outcome.code == 0 { break }
          kills += 1
          var promise = Promise()
          let what = "record killed at \(call) number \(number)"
          if FileManager.default.fileExists(atPath: scratch("log")) {
            let before = CatLine.rawLines(try Tool.run("cat", scratch("log")).output)
            promise.hold(before, against: [life])
            if try Tool.run("stat", scratch("log")).code != 2 {
              Self.verify(scratch("log"), "verify of what the kill left", &promise)
            }
            Self.recoverAndCompare(scratch("log"), before, [life], &promise)
          } else if !life.acknowledged.isEmpty {
            promise.note("acknowledged into a directory that is not there")
          }
          if !promise.problems.isEmpty {
            let kept = Files.keepEvidence([scratch("log")], name: "record-\(call)-\(number)", note: what)
            Issue.record("\(what): \(promise.problems.joined(separator: "\n"))\nevidence: \(kept)")
            break
          }
        }
      }
      Run.say("recording killed at \(kills) system calls")
    }

    /// A log of a process that was killed with events in its lanes, and what a reader sees of it.
    private static func makeDeadLog(_ scratch: Scratch) throws -> (Life, [Data]) {
      let input = try scratch.file("input", Numbered.lines(1...60_000))
      let end = Moment.now + Child.patience
      while Moment.now < end {
        try? FileManager.default.removeItem(atPath: scratch("dead"))
        let arguments = ["record", scratch("dead"), "--format", "lines", "--acknowledge", "--threads", "3"]
        let child = try Child(Tool.path, arguments + ["--segment-bytes", "320K"], input: .file(input))
        try child.waitUntil { $0.output.count > 10_000 }
        let outcome = try child.kill()
        let before = CatLine.rawLines(try Tool.run("cat", scratch("dead")).output)
        try Files.copy(scratch("dead"), to: scratch("probe"))
        let report = try Tool.run("recover", scratch("probe"), "--json")
        try FileManager.default.removeItem(atPath: scratch("probe"))
        let numbers = try JSONSerialization.jsonObject(with: report.output) as? [String: Any]
        if (numbers?["events_from_lanes"] as? Int ?? 0) > 0 {
          return (Life(threads: 3, output: outcome.output), before)
        }
      }
      throw ChildProblem(description: "no kill left an event in a lane")
    }

    private static func recoverAndCompare(
      _ directory: String, _ before: [Data], _ lives: [Life], _ promise: inout Promise
    ) {
      do {
        let recovered = try Tool.run("recover", directory)
        if recovered.code != 0 { promise.note("weir recover: \(recovered.code ?? -1) \(recovered.errors)") }
        let after = CatLine.rawLines(try Tool.run("cat", directory).output)
        promise.compare(before: before, after: after, "after recovery")
        promise.hold(after, against: lives)
        verify(directory, "verify after recovery", &promise)
      } catch {
        promise.note("\(error)")
      }
    }

    /// A kill is no damage: nothing that it leaves may be called so.
    private static func verify(_ directory: String, _ what: String, _ promise: inout Promise) {
      do {
        let verified = try Tool.run("verify", directory)
        if verified.code != 0 { promise.note("\(what): \(verified.text)\(verified.errors)") }
      } catch {
        promise.note("\(what): \(error)")
      }
    }

    private static func traced(_ call: String, _ number: Int, _ arguments: [String]) throws -> Outcome {
      let options = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)"]
      let inject = ["-e", "inject=\(call):signal=KILL:when=\(number)"]
      return try Child("strace", options + inject + [Tool.path] + arguments).wait()
    }

    private static func numbers(for call: String) -> [Int] {
      if Run.isLong { return Array(1...100_000) }
      return ["openat", "futex", "fcntl", "munmap"].contains(call) ? [1, 5, 12, 30] : Array(1...12)
    }

    private static func straceWorks() -> Bool {
      let probe = try? Child("strace", ["-f", "-qq", "-o", "/dev/null", "/bin/true"]).wait()
      if probe?.code == 0 { return true }
      Run.say("SKIPPED: strace is missing or may not trace here; no kills at system calls")
      return false
    }
  }
}

// FullDisk.swift: the disk fills up under the recorder. It stops with exit code 3, keeps what it has, and once there is
// room again everything that was acknowledged is there. The disk is a small tmpfs in a mount namespace of its own.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct FullDisk {
    /// Runs a shell script in a private mount namespace. Nil where that is not allowed.
    private func privately(_ script: String, _ arguments: [String]) throws -> Outcome? {
      guard geteuid() == 0,
        try Child("unshare", ["-m", "sh", "-c", "mount -t tmpfs none /mnt"]).wait().code == 0
      else {
        Run.say("SKIPPED: a full disk needs root and mount namespaces")
        return nil
      }
      return try Child("unshare", ["-m", "sh", "-euc", script, "sh", Tool.path] + arguments).wait()
    }

    @Test(arguments: Run.isLong ? ["6m", "8m", "12m", "16m", "20m", "24m", "40m"] : ["12m", "20m"])
    func `a disk that fills up while recording ends it, and costs nothing that was acknowledged`(_ size: String) throws
    {
      let scratch = try Scratch()
      let input = try scratch.file("input", Numbered.lines(1...(Run.isLong ? 400_000 : 150_000)))
      let script = """
        weir=$1 out=$2 input=$3
        mkdir "$out/disk"
        mount -t tmpfs -o size=\(size) none "$out/disk"
        code=0; "$weir" record "$out/disk/log" "$input" --format lines --acknowledge --segment-bytes 1M \\
          >"$out/acknowledged" 2>"$out/errors" || code=$?
        echo "$code" >"$out/code"
        [ -d "$out/disk/log" ] || exit 0
        code=0; "$weir" cat "$out/disk/log" >"$out/before" 2>>"$out/errors-cat" || code=$?
        echo "$code" >"$out/code-cat"
        mount -o remount,size=400m "$out/disk"
        "$weir" recover "$out/disk/log" >"$out/report"
        "$weir" cat "$out/disk/log" >"$out/after"
        "$weir" verify "$out/disk/log" >"$out/verified"
        echo more | "$weir" record "$out/disk/log" --format lines
        "$weir" cat "$out/disk/log" | tail -n 1 >"$out/last"
        """
      guard let outcome = try privately(script, [scratch.path, input]) else { return }
      #expect(outcome.code == 0, "\(outcome.errors)")
      let code = try String(contentsOfFile: scratch("code"), encoding: .utf8)
      let errors = try String(contentsOfFile: scratch("errors"), encoding: .utf8)
      #expect(code == "3\n", "exit code \(code) \(errors)")
      #expect(errors.contains("weir: "), "\(errors)")
      #expect(errors.contains("disk/log"), "\(errors)")
      guard FileManager.default.fileExists(atPath: scratch("before")) else { return }
      let life = Life(threads: 1, output: try Files.read(scratch("acknowledged")))
      let before = CatLine.rawLines(try Files.read(scratch("before")))
      let after = CatLine.rawLines(try Files.read(scratch("after")))
      var promise = Promise()
      promise.compare(before: before, after: after, "once there is room")
      promise.hold(before, against: [life])
      promise.hold(after, against: [life])
      #expect(promise.problems.isEmpty, "\(promise.problems)")
      #expect(try CatLine(Files.read(scratch("last"))).text == "more", "the log goes on")
      Run.say("a disk of \(size): \(life.acknowledged.count) acknowledged, \(after.count) kept")
    }

    @Test func `a disk too small to begin with is an error in one line`() throws {
      let scratch = try Scratch()
      for size in ["64k", "1m", "2m"] {
        let script = """
          mkdir -p "$2/disk"; mount -t tmpfs -o size=\(size) none "$2/disk"
          echo line | "$1" record "$2/disk/log" --format lines
          """
        guard let outcome = try privately(script, [scratch.path]) else { return }
        let ending = "\(size): exit \(outcome.code ?? -1), signal \(outcome.signal ?? 0): \(outcome.errors)"
        #expect(outcome.code == 3, "\(ending)")
        #expect(outcome.complaints.count == 1, "\(size): \(outcome.errors)")
        #expect(outcome.errors.contains("disk/log"), "\(size): \(outcome.errors)")
      }
    }

    @Test func `a file size limit is an error, not a signal`() throws {
      let scratch = try Scratch()
      let input = try scratch.file("input", Numbered.lines(1...2000))
      for blocks in [1, 1000, 9000, 30_000] {
        let script = "ulimit -f \(blocks); exec \"$1\" record \"$2\" \"$3\" --format lines"
        let outcome = try Child("sh", ["-c", script, "sh", Tool.path, scratch("log-\(blocks)"), input]).wait()
        #expect(outcome.signal == nil, "limit \(blocks): signal \(outcome.signal ?? 0)")
        #expect(outcome.code == 0 || outcome.code == 3, "limit \(blocks): \(outcome.code ?? -1) \(outcome.errors)")
        if outcome.code == 3 { #expect(outcome.complaints.contains { $0.hasPrefix("weir: ") }, "\(outcome.errors)") }
      }
    }
  }
}

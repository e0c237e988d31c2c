// Child.swift: one child process: started with posix_spawn, its pipes served by a single loop, killed at a moment that
// is exact to tens of microseconds, and never left behind.
import Foundation
import Glibc

/// How a child ended and what it said.
struct Outcome: Sendable {
  /// The exit code; nil if a signal ended it.
  var code: Int32?
  /// The signal that ended it, if one did.
  var signal: Int32?
  var output: Data
  var errors: String

  /// The lines of the standard error stream.
  var complaints: [Substring] { errors.split(separator: "\n") }
  var text: String { String(decoding: output, as: UTF8.self) }
}

struct ChildProblem: Error, CustomStringConvertible {
  var description: String
}

final class Child {
  enum Input {
    case nothing
    case file(String)
    case pipe
  }

  let pid: pid_t
  private let commandLine: String
  private var status: Int32?
  private var input: Int32 = -1
  private var outputs: [(descriptor: Int32, isError: Bool)] = []
  private(set) var output = Data()
  private var errors = Data()
  /// The lines of the standard error stream so far.
  var complaints: [Substring] { String(decoding: errors, as: UTF8.self).split(separator: "\n") }

  /// Starts `executable`. With `outputFile`, standard output goes there (appended) and not into `output`.
  init(
    _ executable: String, _ arguments: [String], input source: Input = .nothing, outputFile: String? = nil,
    environment extra: [String: String] = [:]
  ) throws {
    commandLine = ([executable] + arguments).joined(separator: " ")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var childEnds: [Int32] = []
    defer { for end in childEnds { Glibc.close(end) } }

    switch source {
    case .nothing: posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    case .file(let path): posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0)
    case .pipe:
      let ends = try Self.pipeEnds()
      input = ends.write
      childEnds.append(ends.read)
      posix_spawn_file_actions_adddup2(&actions, ends.read, 0)
    }
    for isError in [false, true] {
      let target: Int32 = isError ? 2 : 1
      if !isError, let outputFile {
        posix_spawn_file_actions_addopen(&actions, 1, outputFile, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        continue
      }
      let ends = try Self.pipeEnds()
      outputs.append((ends.read, isError))
      childEnds.append(ends.write)
      posix_spawn_file_actions_adddup2(&actions, ends.write, target)
    }

    var environment = Run.environment.merging(extra) { _, new in new }
    environment["SWIFT_BACKTRACE"] = "enable=no"  // the backtracer of a crash can hang and hold the pipes open
    pid = try Self.spawn(executable, arguments, environment, &actions)
    for output in outputs { _ = fcntl(output.descriptor, F_SETFL, O_NONBLOCK) }
  }

  deinit {
    if status == nil {
      Glibc.kill(pid, SIGKILL)
      var ignored: Int32 = 0
      waitpid(pid, &ignored, 0)
    }
    finishInput()
    for output in outputs { Glibc.close(output.descriptor) }
  }

  private static func pipeEnds() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw ChildProblem(description: "pipe failed: errno \(errno)") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let setPipeSize: Int32 = 1031  // F_SETPIPE_SZ, which the importer leaves out
    _ = fcntl(ends[1], setPipeSize, 1 << 20)
    return (ends[0], ends[1])
  }

  private static func spawn(
    _ executable: String, _ arguments: [String], _ environment: [String: String],
    _ actions: inout posix_spawn_file_actions_t
  ) throws -> pid_t {
    // A dead child's pipe must answer EPIPE here; the child itself gets the default action back.
    _ = Glibc.signal(SIGPIPE, SIG_IGN)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var defaults = sigset_t()
    sigemptyset(&defaults)
    sigaddset(&defaults, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    // Threads of the test runner block signals; the child must not inherit that.
    var mask = sigset_t()
    sigemptyset(&mask)
    posix_spawnattr_setsigmask(&attributes, &mask)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

    var argv = ([executable] + arguments).map { strdup($0) }
    var envp = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in argv + envp { free(text) } }
    argv.append(nil)
    envp.append(nil)
    var pid: pid_t = 0
    let failure = posix_spawnp(&pid, executable, &actions, &attributes, argv, envp)
    guard failure == 0 else { throw ChildProblem(description: "cannot run \(executable): errno \(failure)") }
    return pid
  }

  // MARK: Input

  /// Writes all of `bytes` to the child's input, serving its outputs meanwhile. False once the child is gone.
  @discardableResult
  func send(_ bytes: Data) -> Bool {
    var rest = bytes
    _ = fcntl(input, F_SETFL, O_NONBLOCK)
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        if serve(until: Moment.now + 0.001) { return false }
      } else {
        return false
      }
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Data(text.utf8)) }

  func finishInput() {
    if input >= 0 { Glibc.close(input) }
    input = -1
  }

  // MARK: Waiting

  /// How long a child may take for anything. A limit against hanging: a loaded machine needs a small part of it.
  static let patience = 900.0

  /// Serves the pipes until `condition` holds, or until the child has ended. Throws if neither comes.
  func waitUntil(_ condition: (Child) -> Bool) throws {
    let end = Moment.now + Self.patience
    let hasEnded = serve(until: end, enough: condition)
    if hasEnded || Moment.now < end || condition(self) { return }
    throw ChildProblem(description: "waited for in vain for \(Self.patience) s: \(commandLine)\n\(errorText)")
  }

  /// Serves the pipes until `moment` (answers false), or until the child has ended (true), or `enough` says so (false).
  @discardableResult
  func serve(until moment: Double, enough: (Child) -> Bool = { _ in false }) -> Bool {
    while true {
      var ready = outputs.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      // With nothing to listen to, the child's end is only seen by asking again.
      let wait = max(0, min(moment - Moment.now, outputs.isEmpty ? 0.000_2 : 0.005))
      // poll counts in milliseconds, a kill wants to be more exact than that.
      if poll(&ready, nfds_t(ready.count), Int32(wait * 1000)) == 0, wait < 0.001 { usleep(useconds_t(wait * 1e6)) }
      readOutputs()
      if hasEnded() {
        readOutputs()
        return true
      }
      if enough(self) || Moment.now >= moment { return false }
    }
  }

  private func readOutputs() {
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    outputs.removeAll { output in
      while true {
        let count = Glibc.read(output.descriptor, &chunk, chunk.count)
        if count > 0 {
          if output.isError {
            errors.append(contentsOf: chunk[..<count])
          } else {
            self.output.append(contentsOf: chunk[..<count])
          }
        } else if count == 0 {
          Glibc.close(output.descriptor)
          return true
        } else {
          return false
        }
      }
    }
  }

  private func hasEnded() -> Bool {
    if status != nil { return true }
    var value: Int32 = 0
    guard waitpid(pid, &value, WNOHANG) == pid else { return false }
    status = value
    return true
  }

  func signal(_ number: Int32) {
    if status == nil { Glibc.kill(pid, number) }
  }

  /// Ends the child at once, as the out-of-memory killer would, and answers what it had said.
  func kill() throws -> Outcome {
    signal(SIGKILL)
    return try wait()
  }

  /// Stops all threads of the child; returns when they stand still.
  func stop() throws {
    var value: Int32 = 0
    signal(SIGSTOP)
    guard status == nil, waitpid(pid, &value, WUNTRACED) == pid else { return }
    if value & 0xff == 0x7f { return }
    status = value
    throw ChildProblem(description: "ended instead of standing still: \(commandLine)\n\(errorText)")
  }

  /// Has a child that stands still go on.
  func proceed() { signal(SIGCONT) }

  /// Closes the end of the pipe from which the child's standard output is read, as a reader does that has seen enough.
  func closeOutput() {
    for output in outputs where !output.isError { Glibc.close(output.descriptor) }
    outputs.removeAll { !$0.isError }
  }

  /// Waits for the end; a child that hangs is killed and reported as a problem.
  func wait() throws -> Outcome {
    if !serve(until: Moment.now + Self.patience) {
      signal(SIGKILL)
      serve(until: Moment.now + Self.patience)
      throw ChildProblem(description: "still running after \(Self.patience) s: \(commandLine)\n\(errorText)")
    }
    let value = status ?? 0
    let ending = value & 0x7f
    return Outcome(
      code: ending == 0 ? (value >> 8) & 0xff : nil, signal: ending == 0 ? nil : ending, output: output,
      errors: errorText)
  }

  private var errorText: String { String(decoding: errors, as: UTF8.self) }
}

/// Seconds on the monotonic clock.
enum Moment {
  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

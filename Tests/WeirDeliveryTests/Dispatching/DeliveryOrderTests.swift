// The order in which delivery makes things durable, which no kill shows: a kill leaves the page cache alone. Dead
// letters are synced before the cursor passes their events, and the cursor is synced before a segment goes.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

#if DEBUG
  @_silgen_name("weir_fault_observe")
  private func observeCore(_ told: (@convention(c) (UnsafeRawPointer?, Int32) -> Void)?)

  /// What is on the disk for sure, by the syncs so far.
  private struct Synced: Sendable {
    var world: VictimWorld?
    /// Dead letters of the provider.
    var letters: UInt64 = 0
    /// The provider's cursor.
    var position: Offset = 0
    var removals = 0
    var moves = 0
  }

  private let synced = Mutex(Synced())

  private func cursor(of world: VictimWorld) -> CursorPosition? {
    guard case .position(let position)? = try? Cursor.read(VictimWorld.provider, of: world.log) else { return nil }
    return position
  }

  /// A call of the core: `call` begins with the operation's name, a descriptor, and a file's name.
  private func noteCore(_ call: UnsafeRawPointer, _ isAfter: Bool) {
    let operation = String(cString: call.load(as: UnsafePointer<CChar>.self))
    let file = call.load(fromByteOffset: 8, as: Int32.self)
    let name = call.load(fromByteOffset: 16, as: UnsafePointer<CChar>?.self).map { String(cString: $0) } ?? ""
    synced.withLock { synced in
      guard let world = synced.world else { return }
      if operation == "sys_sync_data", isAfter, isDeadLetters(file) {
        synced.letters = UInt64((try? LogDirectory(world.log).deadLetters(of: VictimWorld.provider).count) ?? 0)
      }
      guard operation == "sys_unlink", !isAfter, name.hasSuffix(".weir") || name.hasSuffix(".weir.lz4") else { return }
      guard let first = try? LogDirectory(world.log).tally(from: 0).firstOffset, first > 0 else { return }
      synced.removals += 1
      if first > synced.position { world.say("early removal below \(first), the cursor at \(synced.position)") }
    }
  }

  /// Whether a descriptor is of a file in `dead-letters`.
  private func isDeadLetters(_ file: Int32) -> Bool {
    let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)")
    return path?.contains("/\(DeadLetter.directoryName)/") == true
  }

  /// The cursor's file is about to be synced: its new slot can be read, and nothing else can have come with it.
  private func noteCursorSync() {
    synced.withLock { synced in
      guard let world = synced.world, let found = cursor(of: world) else { return }
      let rejected = found.counts?.rejected ?? 0
      synced.moves += found.offset > synced.position ? 1 : 0
      synced.position = max(synced.position, found.offset)
      if rejected > synced.letters { world.say("early cursor past \(rejected) dead letters of \(synced.letters)") }
    }
  }

  @Suite struct DeliveryOrderTests {
    /// One life in peace, in a process of its own, whose calls are looked at.
    @Test(.timeLimit(.minutes(15)))
    func `case 7 and 28: dead letters are synced before the cursor, the cursor before segments go`() async throws {
      try await VictimWorld.with { world in
        let path = world.path
        await #expect(processExitsWith: .success) { [path = path as String] in
          let world = VictimWorld(path: path)
          synced.withLock { $0.world = world }
          observeCore { call, isAfter in
            if let call { noteCore(call, isAfter != 0) }
          }
          try await world.run(events: 400, seed: 1) { configuration in
            configuration.calls.fault = { call in
              if call == .syncData { noteCursorSync() }
              return nil
            }
          }
          observeCore(nil)
          let (removals, moves, letters) = synced.withLock { ($0.removals, $0.moves, $0.letters) }
          world.say("saw \(removals) \(moves) \(letters)")
        }
        let saw = try #require(world.said("saw").first).compactMap { Int($0) }
        #expect(saw.count == 3, "removals, moves of the cursor, dead letters: \(saw)")
        #expect(saw.allSatisfy { $0 > 0 }, "removals, moves of the cursor, dead letters: \(saw)")
        let early = world.said("early").map { $0.joined(separator: " ") }
        #expect(early == [])
        #expect(try world.problems() == [])
      }
    }
  }
#endif

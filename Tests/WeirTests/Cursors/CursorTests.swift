// Cursors: what is kept is found again, whatever bytes of the file are damaged and wherever the process dies.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirDelivery

struct CursorTests {
  private func position(_ number: UInt64) -> CursorPosition {
    CursorPosition(
      offset: number * 1000, last: EventID(opening: 77, sequence: number), certain: number * 900)
  }

  private func found(_ directory: String) throws -> Cursor.Found {
    try Cursor("provider", of: directory).found
  }

  /// A cursor that was moved so many times, and its file.
  private func made(_ directory: String, moves: UInt64) throws -> String {
    let cursor = try Cursor("provider", of: directory)
    for number in 1...moves { try cursor.move(to: position(number)) }
    return directory + "/cursors/provider"
  }

  @Test func `a kept position is found`() throws {
    try withDirectory { directory in
      #expect(try found(directory) == .nothing)
      // Opening leaves no cursor behind.
      #expect(try found(directory) == .nothing)
      for round in 0..<3 as Range<UInt64> {
        let cursor = try Cursor("provider", of: directory)
        for number in round * 5 + 1...round * 5 + 5 {
          try cursor.move(to: position(number))
          #expect(try found(directory) == .position(position(number)))
        }
      }
      let other = try Cursor("other", of: directory)
      #expect(other.found == .nothing)
      try other.move(to: CursorPosition())
      #expect(try Cursor("other", of: directory).found == .position(CursorPosition()))
      #expect(try found(directory) == .position(position(15)))
      let file = try Data(contentsOf: URL(filePath: directory + "/cursors/provider"))
      #expect(file.count == Cursor.slotStride + CursorSlot.byteCount)
    }
  }

  @Test func `a position may go back`() throws {
    try withDirectory { directory in
      let cursor = try Cursor("provider", of: directory)
      try cursor.move(to: position(9))
      try cursor.move(to: position(2))
      #expect(try found(directory) == .position(position(2)))
    }
  }

  @Test func `a flip of any byte leaves one of the last two positions`() throws {
    try withDirectory { directory in
      let file = URL(filePath: try made(directory, moves: 4))
      let whole = try Data(contentsOf: file)
      // Of four moves the last is in the first slot or the second; which one the damage hits shows.
      var losses = 0
      let handle = try FileHandle(forUpdating: file)
      for place in 0..<whole.count {
        let isCovered = place < CursorSlot.byteCount || place >= Cursor.slotStride
        guard isCovered || place % 97 == 0 else { continue }
        for mask in [0x01, 0x80, 0xff] as [UInt8] {
          try handle.seek(toOffset: UInt64(place))
          try handle.write(contentsOf: [whole[place] ^ mask])
          let result = try found(directory)
          #expect(result == .position(position(4)) || result == .position(position(3)))
          if result == .position(position(3)) { losses += 1 }
          if !isCovered { #expect(result == .position(position(4))) }
        }
        try handle.seek(toOffset: UInt64(place))
        try handle.write(contentsOf: [whole[place]])
      }
      // Each byte of the slot that counts, and none of the other.
      #expect(losses == CursorSlot.byteCount * 3)
    }
  }

  @Test func `a file cut to any length gives the last whole slot`() throws {
    try withDirectory { directory in
      let file = URL(filePath: try made(directory, moves: 4))
      let whole = try Data(contentsOf: file)
      let isLastFirst = CursorSlot.read(Array(whole[..<512])) == .slot(CursorSlot(sequence: 4, position: position(4)))
      for length in 0...whole.count where length % 31 == 0 || length % 512 < 2 || length % 512 > 510 {
        try whole[..<length].write(to: file)
        let expected: Cursor.Found =
          length == whole.count
          ? .position(position(4)) : length < 512 ? .damaged : .position(position(isLastFirst ? 4 : 3))
        #expect(try found(directory) == expected, "\(length)")
      }
    }
  }

  @Test func `a cursor without a whole slot is made anew`() throws {
    try withDirectory { directory in
      let file = URL(filePath: try made(directory, moves: 3))
      for bytes in [Data(), Data(count: 4608), Data(repeating: 0xa5, count: 10_000)] {
        try bytes.write(to: file)
        let cursor = try Cursor("provider", of: directory)
        #expect(cursor.found == .damaged)
        try cursor.move(to: position(1))
        #expect(try found(directory) == .position(position(1)))
        try cursor.move(to: position(2))
        #expect(try found(directory) == .position(position(2)))
      }
    }
  }

  @Test func `a slot that can't be true does not count, though its checksum is right`() throws {
    func slot(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
      var bytes = CursorSlot(sequence: 5, position: position(3)).bytes
      change(&bytes)
      var covered = bytes
      covered.removeSubrange(12..<16)
      let crc = covered.withUnsafeBytes { crc32c($0) }
      withUnsafeBytes(of: crc.littleEndian) { bytes.replaceSubrange(12..<16, with: $0) }
      return bytes
    }
    #expect(CursorSlot.read(slot { _ in }) == .slot(CursorSlot(sequence: 5, position: position(3))))
    #expect(CursorSlot.read(slot { $0[16] = 0 }) == .damaged)
    #expect(CursorSlot.read(slot { $0[55] = 1 }) == .damaged)
    #expect(CursorSlot.read(slot { $0[511] = 1 }) == .damaged)
    #expect(CursorSlot.read(slot { $0[8] = 0 }) == .damaged)
    #expect(CursorSlot.read(slot { $0[0] ^= 1 }) == .damaged)
    #expect(CursorSlot.read(slot { $0[8] = 4 }) == .newer(4))
    // Version 3 is for those that were rewound.
    #expect(CursorSlot.read(slot { $0[8] = 3 }) == .damaged)
  }

  /// What became of events, with numbers that are all different.
  private var delivered: CursorPosition {
    var counts = DeliveryCounts(from: 11, baseline: 12, overwrittenBaseline: 13, inHolesBaseline: 21)
    counts.acknowledged = 14
    counts.rejected = 15
    counts.removed = 16
    counts.damaged = 17
    counts.withheld = 18
    counts.restarts = 19
    return CursorPosition(
      offset: 1000, last: EventID(opening: 3, sequence: 4), certain: 900, counts: counts, association: 20,
      lastOffset: 998)
  }

  @Test func `the counts of deliveries are kept, and both versions are read`() throws {
    try withDirectory { directory in
      let cursor = try Cursor("provider", of: directory)
      try cursor.move(to: delivered)
      #expect(try found(directory) == .position(delivered))
      try cursor.move(to: position(2))
      #expect(try found(directory) == .position(position(2)))
      #expect(try Cursor.read("provider", of: directory) == .position(position(2)))
      #expect(try Cursor.read("nobody", of: directory) == .nothing)
      var zero = delivered
      zero.association = 0
      zero.lastOffset = 0
      try cursor.move(to: zero)
      #expect(try found(directory) == .position(zero))
      #expect(CursorSlot(sequence: 1, position: position(1)).bytes[8] == 1)
      #expect(CursorSlot(sequence: 1, position: delivered).bytes[8] == 2)
    }
  }

  @Test func `a rewind is kept, in a version of its own`() throws {
    try withDirectory { directory in
      var rewound = delivered
      rewound.counts?.rewinds = 3
      rewound.counts?.rewound = .max
      rewound.counts?.origin = 7
      let cursor = try Cursor("provider", of: directory)
      try cursor.move(to: rewound)
      #expect(try found(directory) == .position(rewound))
      let bytes = CursorSlot(sequence: 1, position: rewound).bytes
      #expect(bytes[8] == 3)
      for place in 0..<CursorSlot.byteCount {
        var flipped = bytes
        flipped[place] ^= 0x10
        #expect(CursorSlot.read(flipped) == .damaged)
      }
      #expect(rewound.counts?.firstFrom == 7)
      #expect(delivered.counts?.firstFrom == 11)
    }
  }

  @Test func `counts that can't be true do not count`() throws {
    var wrong: [CursorPosition] = []
    for change in [
      { $0.association = 1000 }, { $0.lastOffset = 1000 }, { $0.counts?.from = 1001 }, { $0.certain = 1001 },
    ] as [(inout CursorPosition) -> Void] {
      var position = delivered
      change(&position)
      wrong.append(position)
    }
    // No event is below the offset 0.
    wrong.append(CursorPosition(last: EventID(opening: 3, sequence: 4)))
    wrong.append(CursorPosition(last: EventID(opening: 3, sequence: 4), counts: DeliveryCounts()))
    for position in wrong {
      #expect(CursorSlot.read(CursorSlot(sequence: 1, position: position).bytes) == .damaged, "\(position)")
    }
    for place in 0..<CursorSlot.byteCount {
      var bytes = CursorSlot(sequence: 1, position: delivered).bytes
      bytes[place] ^= 0x10
      #expect(CursorSlot.read(bytes) == .damaged)
    }
  }

  @Test func `a cursor with the last sequence counts from 1 again`() throws {
    try withDirectory { directory in
      let file = URL(filePath: try made(directory, moves: 1))
      for first in [UInt64.max - 1, .max] {
        let slot = CursorSlot(sequence: first, position: position(1)).bytes
        let zeros = [UInt8](repeating: 0, count: Cursor.slotStride - slot.count)
        try Data(slot + zeros + CursorSlot(sequence: first - 1, position: position(9)).bytes).write(to: file)
        let cursor = try Cursor("provider", of: directory)
        for number in 2...5 as ClosedRange<UInt64> {
          try cursor.move(to: position(number))
          #expect(try found(directory) == .position(position(number)))
        }
      }
    }
  }

  @Test func `a newer version's cursor is not touched`() throws {
    try withDirectory { directory in
      let file = URL(filePath: try made(directory, moves: 2))
      var bytes = Array(try Data(contentsOf: file))
      bytes[8] = 9
      var covered = Array(bytes[..<512])
      covered.removeSubrange(12..<16)
      let crc = covered.withUnsafeBytes { crc32c($0) }
      withUnsafeBytes(of: crc.littleEndian) { bytes.replaceSubrange(12..<16, with: $0) }
      try Data(bytes).write(to: file)
      let error = #expect(throws: WeirError.self) { try found(directory) }
      #expect(error?.code == .version)
      #expect(try Data(contentsOf: file) == Data(bytes))
    }
  }

  @Test func `something else in the place of the file is refused, and named`() throws {
    try withDirectory { directory in
      let path = try made(directory, moves: 1)
      try FileManager.default.removeItem(atPath: path)
      #expect(mkfifo(path, 0o600) == 0)
      #expect(throws: WeirError.self) { try found(directory) }
      unlink(path)
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/hostname")
      let link = #expect(throws: WeirError.self) { try found(directory) }
      #expect(link?.message == "\(path) is a symbolic link, and not a plain file; remove it")
      #expect(link?.code == .unsafe)
      unlink(path)
      // And of the lock beside it.
      try FileManager.default.createDirectory(atPath: path + ".lock", withIntermediateDirectories: false)
      let folder = #expect(throws: WeirError.self) {
        try CursorLock((path as NSString).lastPathComponent, of: directory, calls: SystemCalls())
      }
      #expect(folder?.message == "\(path).lock is a directory, and not a plain file; remove it")
      try FileManager.default.removeItem(atPath: directory + "/cursors")
      try FileManager.default.createSymbolicLink(atPath: directory + "/cursors", withDestinationPath: "/tmp")
      #expect(throws: WeirError.self) { try found(directory) }
    }
  }
}

/// The process dies, or a call fails, at every system call in turn.
struct CursorFaultTests {
  private final class Fault: Sendable {
    let calls = Mutex(0)
    let at: Int
    let error: Int32
    let isForGood: Bool

    init(at: Int, error: Int32, isForGood: Bool) {
      self.at = at
      self.error = error
      self.isForGood = isForGood
    }

    var hook: @Sendable (SystemCalls.Call) -> Int32? {
      { _ in
        self.calls.withLock { calls in
          calls += 1
          return calls == self.at || self.isForGood && calls > self.at ? self.error : nil
        }
      }
    }
  }

  private func position(_ number: UInt64) -> CursorPosition {
    CursorPosition(offset: number, last: EventID(opening: 1, sequence: number), certain: number / 2)
  }

  /// Opens and moves; answers the last move that returned, and the one that was begun last.
  private func life(_ directory: String, _ fault: Fault, from first: UInt64) -> (done: UInt64, begun: UInt64) {
    var done = first - 1
    var begun = first - 1
    let calls = SystemCalls(fault: fault.hook)
    guard let cursor = try? Cursor("c", of: directory, calls: calls) else { return (done, done) }
    for number in first..<first + 4 {
      begun = number
      do { try cursor.move(to: position(number)) } catch { if fault.isForGood { break } else { continue } }
      done = number
    }
    return (done, begun)
  }

  @Test func `a position is synced before it counts, and a new name before it is relied on`() throws {
    try withDirectory { directory in
      let made = Mutex<[SystemCalls.Call]>([])
      let calls = SystemCalls(fault: { call in
        made.withLock { $0.append(call) }
        return nil
      })
      let cursor = try Cursor("c", of: directory, calls: calls)
      made.withLock { $0 = [] }
      try cursor.move(to: position(1))
      let first: [SystemCalls.Call] = [.unlink, .create, .write, .write, .syncData, .rename, .syncDirectory]
      #expect(made.withLock { $0 } == first)
      made.withLock { $0 = [] }
      try cursor.move(to: position(2))
      #expect(made.withLock { $0 } == [.write, .syncData])
    }
  }

  @Test(arguments: [ENOSPC, EIO])
  func `a cursor killed before any call gives its last position or the next, over two lives`(error: Int32) throws {
    var first = 0
    while true {
      first += 1
      let fault = Fault(at: first, error: error, isForGood: true)
      var second = 0
      var isThrough = false
      while true {
        second += 1
        let again = Fault(at: second, error: error, isForGood: true)
        try withDirectory { directory in
          let one = life(directory, Fault(at: first, error: error, isForGood: true), from: 1)
          let found = try Cursor("c", of: directory).found
          check(found, one)
          var two = life(directory, again, from: one.begun + 1)
          two.done = max(two.done, one.done)
          let least = two.done > one.begun ? two.done : 0
          check(try Cursor("c", of: directory).found, (one.done, two.begun), atLeast: least)
        }
        if again.calls.withLock({ $0 < second }) { break }
      }
      try withDirectory { directory in
        let whole = life(directory, fault, from: 1)
        isThrough = fault.calls.withLock { $0 < first } && whole.done == 4
      }
      if isThrough { break }
      try #require(first < 100)
    }
    #expect(first > 15)
  }

  private func check(_ found: Cursor.Found, _ life: (done: UInt64, begun: UInt64), atLeast: UInt64 = 0) {
    switch found {
    case .nothing:
      #expect(life.done == 0)
      #expect(atLeast == 0)
    case .damaged: Issue.record("a kill damaged the cursor")
    case .position(let found):
      #expect(found.offset >= max(life.done, atLeast))
      #expect(found.offset <= life.begun)
      #expect(found == position(found.offset))
    }
  }

  @Test func `a damaged cursor may be killed before any call while it is made anew`() throws {
    for at in 1..<20 {
      try withDirectory { directory in
        let file = URL(filePath: directory + "/cursors/c")
        try Cursor("c", of: directory).move(to: position(1))
        try Data(count: 7000).write(to: file)
        let life = life(directory, Fault(at: at, error: EIO, isForGood: true), from: 1)
        // A cursor that is not there would be a new one, of which nothing is to be done again.
        switch try Cursor("c", of: directory).found {
        case .nothing: Issue.record("a damaged cursor was removed, killed before call \(at)")
        case .damaged: #expect(life.done == 0)
        case .position(let found):
          #expect(found.offset >= life.done)
          #expect(found.offset <= life.begun)
        }
      }
    }
  }

  @Test func `a move makes up for one that failed at any call`() throws {
    for at in 1..<30 {
      for error in [ENOSPC, EIO, EINTR] {
        try withDirectory { directory in
          let fault = Fault(at: at, error: error, isForGood: false)
          guard let cursor = try? Cursor("c", of: directory, calls: SystemCalls(fault: fault.hook)) else { return }
          var failures = 0
          for number in 1...6 as ClosedRange<UInt64> {
            var done = number
            do { try cursor.move(to: position(number)) } catch {
              failures += 1
              done = number - 1
            }
            check(try Cursor("c", of: directory).found, (done, number))
          }
          let isReached = fault.calls.withLock { $0 >= at }
          #expect(failures == (isReached && error != EINTR ? 1 : 0))
        }
      }
    }
  }

  @Test func `a slot half written leaves the one before it`() throws {
    try withDirectory { directory in
      let file = URL(filePath: directory + "/cursors/c")
      var cursor = try Cursor("c", of: directory)
      try cursor.move(to: position(1))
      for number in 2...7 as ClosedRange<UInt64> {
        // Also by one that did not write the slots before.
        if number > 4 { cursor = try Cursor("c", of: directory) }
        let before = try Data(contentsOf: file)
        try cursor.move(to: position(number))
        let after = try Data(contentsOf: file)
        for cut in 0...CursorSlot.byteCount {
          // What of the write came to the disk: its beginning, or its end.
          for slot in [0, Cursor.slotStride] {
            for mixed in [(after, before), (before, after)] {
              var torn = mixed.1
              torn.replaceSubrange(slot..<slot + cut, with: mixed.0[slot..<slot + cut])
              let reading = [0, Cursor.slotStride].map { CursorSlot.read(Array(torn[$0..<$0 + CursorSlot.byteCount])) }
              let slots = reading.compactMap { reading in if case .slot(let slot) = reading { slot } else { nil } }
              let best = try #require(slots.max { $0.sequence < $1.sequence })
              #expect(best.position == position(number) || best.position == position(number - 1))
            }
          }
        }
        #expect(after != before)
      }
    }
  }
}

// LZ4Frames: frames come back, and damaged ones are refused without taking memory.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct LZ4FramesTests {
  private func content(_ frames: [UInt8], pieces: Int = .max) throws -> [UInt8] {
    let reader = try LZ4Reader()
    var content: [UInt8] = []
    var rest = frames[...]
    while !rest.isEmpty {
      try reader.read(Array(rest.prefix(pieces))) {
        #expect($0.count <= LZ4Reader.pieceBytes)
        content += $0
      }
      rest = rest.dropFirst(pieces)
    }
    return content
  }

  private func sample(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7 ^ $0 >> 9) }
  }

  @Test(arguments: [0, 1, 255 << 10, 256 << 10, 1 << 20, (1 << 20) + 1, 3 << 20])
  func `a frame comes back in pieces of any size`(count: Int) throws {
    let sample = sample(count)
    let frame = LZ4Frames.frame(sample)
    #expect(try content(frame) == sample)
    #expect(try content(frame, pieces: 997) == sample)
    #expect(try content(frame + frame + LZ4Frames.frame([1]) + frame) == sample + sample + [1] + sample)
  }

  @Test func `frames are standard ones`() {
    let frame = LZ4Frames.frame(sample(2 << 20))
    // The magic number; version 1, independent blocks, checksums of blocks and content, content size; blocks of 1 MiB.
    #expect(Array(frame.prefix(6)) == [0x04, 0x22, 0x4d, 0x18, 0b0111_1100, 0b0110_0000])
    #expect(Array(frame[6..<14]) == [0, 0, 0x20, 0, 0, 0, 0, 0])
  }

  private static let tool = ["/usr/bin/lz4", "/usr/local/bin/lz4"].first(where: FileManager.default.isExecutableFile)

  /// Which is particular about frames one after another.
  @Test(.enabled(if: tool != nil, "the lz4 tool is not installed"))
  func `the lz4 tool reads frames one after another`() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/frames.lz4"
      let frames = LZ4Frames.frame(sample(5000)) + LZ4Frames.frame(sample(3 << 20)) + LZ4Frames.frame(sample(1))
      try Data(frames).write(to: URL(filePath: path))
      let tool = Process()
      tool.executableURL = URL(filePath: try #require(Self.tool))
      tool.arguments = ["-d", "-q", path, directory + "/content"]
      let isOver = Mutex(false)
      tool.terminationHandler = { _ in isOver.withLock { $0 = true } }
      try tool.run()
      #expect(await eventually { isOver.withLock { $0 } })
      #expect(tool.terminationStatus == 0)
      let content = try Data(contentsOf: URL(filePath: directory + "/content"))
      #expect(content == Data(sample(5000) + sample(3 << 20) + sample(1)))
    }
  }

  @Test func `a flipped bit is found`() throws {
    let sample = sample(5000)
    let frame = LZ4Frames.frame(sample)
    for place in frame.indices {
      var damaged = frame
      damaged[place] ^= 0x10
      // What comes of a damaged end mark is the content, or an error.
      if let found = try? content(damaged) { #expect(found.starts(with: sample) || found.isEmpty, "at \(place)") }
    }
    var block = frame
    block[30] ^= 1
    #expect(throws: LZ4Frames.Damaged.self) { try content(block) }
    #expect(throws: LZ4Frames.Damaged.self) { try content([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) }
  }

  @Test func `a bomb comes in pieces`() throws {
    let frame = LZ4Frames.frame([UInt8](repeating: 0, count: 64 << 20))
    #expect(frame.count < 300 << 10)
    var total = 0
    try LZ4Reader().read(frame) { piece in
      #expect(piece.count <= LZ4Reader.pieceBytes)
      total += piece.count
    }
    #expect(total == 64 << 20)
  }
}

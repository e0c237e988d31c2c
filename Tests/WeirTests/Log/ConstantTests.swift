// What is written down in Swift as well as in C, held against the C; and who may import it.

import CWeir
import Foundation
import TestSupport
import Testing

@testable import Weir

struct ConstantTests {
  @Test func `the kinds are those of the core`() {
    let core = [
      WEIR_KIND_NULL, WEIR_KIND_BOOL, WEIR_KIND_I8, WEIR_KIND_I16, WEIR_KIND_I32, WEIR_KIND_I64, WEIR_KIND_U8,
      WEIR_KIND_U16, WEIR_KIND_U32, WEIR_KIND_U64, WEIR_KIND_F32, WEIR_KIND_F64, WEIR_KIND_STRING, WEIR_KIND_BYTES,
      WEIR_KIND_UUID, WEIR_KIND_DATE, WEIR_KIND_OPTIONAL, WEIR_KIND_ARRAY, WEIR_KIND_OBJECT, WEIR_KIND_TAGGED,
    ]
    #expect(Kind.allCases.map { Int($0.rawValue) } == core.map { Int($0) })
  }

  @Test func `the reasons of drops are those of the core`() {
    let core = [
      WEIR_DROP_FULL, WEIR_DROP_NO_LANE, WEIR_DROP_TOO_LARGE, WEIR_DROP_CLOSED, WEIR_DROP_DETACHED, WEIR_DROP_STORAGE,
      WEIR_DROP_INVALID, WEIR_LOST_OVERWRITTEN, WEIR_LOST_EXPIRED, WEIR_LOST_DISPLACED, WEIR_DROP_SAMPLED,
    ]
    #expect(DropReason.allCases.map { Int($0.rawValue) } == core.map { Int($0) })
    #expect(DropReason.tooLarge.name == "too_large")
    #expect(Set(DropReason.allCases.map(\.name)).count == DropReason.allCases.count)
  }

  @Test func `each status of the core has its code`() {
    #expect(Set((10...24).compactMap { WeirError.Code(weir_status($0)) }).count == WeirError.Code.allCases.count)
    #expect(WeirError.Code(weir_status(WEIR_OK)) == nil)
    for status in 10...24 { #expect(weir_status_name(weir_status(status)) != nil) }
  }

  @Test func `the limits are those of the core`() {
    #expect(maximumDepth == Int(WEIR_MAX_DEPTH))
    #expect(EventType.maximumNameBytes == Int(WEIR_MAX_NAME_BYTES))
    #expect(Sampler.laneLimit == Int(WEIR_MAX_LANES))
    #expect(LogHandle.maximumContextBytes == Int(WEIR_MAX_CONTEXT_BYTES))
    let configuration = Tracker.Configuration()
    #expect(configuration.maximumEventBytes == Int(WEIR_MAX_EVENT_BYTES))
    #expect(configuration.laneCount == 16)
    #expect(configuration.spareLanes == 2)
    #expect(configuration.laneBytes == 1 << 20)
    #expect(configuration.overflowBytes == 128 << 20)
    #expect(configuration.segmentBytes == 8 << 20)
    #expect(configuration.drainInterval == .milliseconds(20))
    #expect(configuration.whenFull == .dropNewest)
  }

  /// Log, Reading and Support are the door to the C core; what compiles into users' code sees its capture header alone.
  /// The modules above Weir import neither.
  @Test func `only the door imports the core`() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources").resolvingSymlinksInPath()
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    let door = ["Weir/Log", "Weir/Reading", "Weir/Support"]
    let capture = door + ["Weir/Capture", "Weir/Encoding", "Weir/Codable"]
    var seen = 0
    for case let file as URL in files where file.pathExtension == "swift" {
      let folder = file.deletingLastPathComponent().pathComponents.suffix(2).joined(separator: "/")
      let imports = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        .filter { !$0.hasPrefix("//") && $0.contains("import ") }
        .map { $0.split(separator: " ").last ?? "" }
      if imports.contains("CWeir") { #expect(door.contains(folder), "\(file.lastPathComponent) imports CWeir") }
      if imports.contains("CCapture") {
        #expect(capture.contains(folder), "\(file.lastPathComponent) imports CCapture")
      }
      seen += 1
    }
    #expect(seen > 300)
  }
}

// RewindTool.swift: `weir rewind`, and `weir deliver --from offset:N`: what is delivered again, and what is refused.
import Foundation
import Testing

#if HTTP && Collector
  extension EndToEnd {
    @Suite struct RewindTool {
      @Test func `a provider that is rewound gets the events again, and weir stat says so`() throws {
        let scratch = try Scratch()
        let log = scratch("log")
        try Tool.record(log, sending: Numbered.lines(1...10))
        func deliver(_ name: String, _ more: String...) throws -> Outcome {
          try Tool.run(["deliver", log, "--to", scratch(name), "--name", name] + more)
        }
        try Tool.require(deliver("out"), code: 0, "weir deliver")
        let offsets = try Tool.cat(log).map(\.offset)
        try #require(offsets.count == 10)
        let rewind = try Tool.run("rewind", log, "out", "--to", "offset:\(offsets[6])")
        try Tool.require(rewind, code: 0, "weir rewind")
        #expect(rewind.text.contains("to \(offsets[6]): "), "\(rewind.text)")
        let stat = try Tool.run("stat", log)
        #expect(stat.text.contains("rewound from offset"), "\(stat.text)")
        #expect(stat.text.contains("0 acknowledged, 0 rejected, 4 pending"), "\(stat.text)")
        let again = try deliver("out")
        try Tool.require(again, code: 0, "weir deliver after weir rewind")
        #expect(again.text.contains("4 acknowledged"), "\(again.text)")
        let json = try Tool.run("stat", log, "--json").text
        #expect(json.contains("\"rewound\""), "\(json)")

        for (arguments, words) in [
          (["out", "--to", "offset:1000000"], "offset 1000000"), (["nobody", "--to", "beginning"], "nobody"),
          (["out", "--to", "soon"], "offset:N"), (["out", "--to", "offset:-1"], "offset:N"),
        ] {
          let refused = try Tool.run(["rewind", log] + arguments)
          #expect(refused.code == 2, "\(arguments)")
          #expect(refused.errors.contains(words), "\(refused.errors)")
        }

        try Tool.require(deliver("some", "--from", "offset:\(offsets[3])"), code: 0, "weir deliver --from offset:N")
        #expect(try DeliverTool.delivered(scratch("some")) == Array(4...10))
        #expect(try deliver("later", "--from", "offset:1000000").code == 2)
      }
    }
  }
#endif

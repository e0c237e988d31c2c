// FleetPageTests: what a monitor and `weir fleet` show of a collector's hosts.

#if Tool && Monitor
  import Foundation
  import TestSupport
  import Testing
  import Weir

  @testable import WeirFleet
  @testable import WeirMonitor
  @testable import WeirTool

  struct FleetPageTests {
    private let file = """
      {"written":2000000000,"behind":7,"trouble":"no <b>leader</b>","rows":[{"host":"<i>web\u{202e}-1","log":"00112a33445566aa",
      "opening":"0000000000000001","openings":3,"events":1234567,"bytes":1000,"next":5,"missing":2,"pending":40,
      "lastEvent":500000000,"taken":1500000000,"version":"1.0"}]}
      """

    @Test func `a page comes with the collector's file, and a host's name is text`() throws {
      try withDirectory { directory in
        let page = FleetPage(directory).linked
        #expect(!page.isThere())
        try Data(file.utf8).write(to: URL(fileURLWithPath: directory + "/fleet.json"))
        #expect(page.isThere())
        let html = page.html()
        #expect(html.contains("<td>&lt;i&gt;web⟨202E⟩-1</td><td>00112a33</td><td class=\"n\">3</td>"))
        #expect(html.contains("1 logs, 1,234,567 events; 7 messages at the broker"))
        #expect(html.contains("nothing is collected: no &lt;b&gt;leader&lt;/b&gt;"))
        #expect(!html.contains("<i>web") && !html.contains("<script"))
        try Data("{".utf8).write(to: URL(fileURLWithPath: directory + "/fleet.json"))
        #expect(page.html().contains("can't be read"))
      }
    }

    @Test func `the terminal gets the same, without what moves its cursor`() throws {
      try withDirectory { directory in
        try Data(file.replacing("<i>web", with: "\\u001b[2Jweb").utf8).write(
          to: URL(fileURLWithPath: directory + "/fleet.json"))
        let status = try #require(FleetStatus.read(in: directory))
        let lines = FleetTable.text(status, at: 3_000_000_000).split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[1].contains("1,234,567") && lines[1].contains("40, 0 B") && !lines[1].contains("\u{1B}"))
        #expect(lines[2].hasSuffix("written 1.00 s ago"))
        #expect(lines[3] == "nothing is collected: no <b>leader</b>")
      }
    }
  }
#endif

// TerminalView: the lines of a screen, for a given state and size.

#if Monitor
  import Foundation
  import Testing
  import WeirDelivery

  @testable import Weir
  @testable import WeirMonitor

  @Suite struct TerminalViewTests {
    init() { setlocale(LC_ALL, "C.UTF-8") }

    private func view(_ count: Int, states: [DeliveryStates.State] = [.pending]) -> TerminalView {
      var view = TerminalView(logName: "events")
      view.providers = states.isEmpty ? [] : ["http"]
      view.isLive = true
      take(0..<count, into: &view, states)
      return view
    }

    private func take(_ offsets: Range<Int>, into view: inout TerminalView, _ states: [DeliveryStates.State] = []) {
      var news = EventFeed.News()
      news.rows = offsets.map { number in
        let event = StoredEvent(
          offset: Offset(number), id: EventID(opening: 1, sequence: UInt64(number)),
          time: Timestamp(nanosecondsSince1970: 0), name: "event", fields: ["n": .int(Int64(number))])
        return EventFeed.Row(event: event, findings: EventFindings(states: states.map { ("http", $0) }))
      }
      news.found.matched = UInt64(offsets.count)
      news.found.looked = UInt64(offsets.count)
      news.found.next = Offset(offsets.upperBound)
      news.found.isAtEnd = true
      news.isLive = true
      news.end = news.found.next
      view.take(news)
    }

    private func text(_ view: TerminalView, _ width: Int = 100, _ height: Int = 10) -> [String] {
      view.lines(width: width, height: height).map { $0.map(\.text).joined() }
    }

    @Test func `the newest events are on top, with their states`() {
      let lines = text(view(50))
      #expect(lines.count == 10)
      #expect(lines[0].contains("Weir events") && lines[0].contains("live") && lines[0].contains("50 events"))
      #expect(lines[3].contains("n=49") && lines[3].contains("○"))
      #expect(lines[8].contains("n=44"))
    }

    @Test func `every size has as many lines as it is high, and none is wider`() {
      var view = view(50)
      view.move(by: 1)
      for mode in [TerminalView.Mode.list, .help, .sums, .details(Array(repeating: "x", count: 40), from: 3)] {
        view.mode = mode
        for width in [0, 1, 2, 5, 20, 39, 80, 300] {
          for height in [0, 1, 2, 3, 4, 10, 100] {
            let lines = view.lines(width: width, height: height)
            #expect(lines.count == (width > 0 ? height : 0))
            for line in lines { #expect(line.reduce(0) { $0 + ShownText.width(of: $1.text) } <= width) }
          }
        }
      }
    }

    @Test func `a paused list stands still, and has what came afterwards`() {
      var view = view(3)
      view.pause()
      take(3..<5, into: &view)
      #expect(view.rows.count == 3)
      #expect(text(view)[0].contains("paused, 2 new"))
      view.pause()
      #expect(view.rows.map(\.offset) == [0, 1, 2, 3, 4])
    }

    @Test func `the selection moves, stays at its event, and stays in sight`() {
      var view = view(50)
      view.move(by: 1)
      #expect(view.selected == 49)
      view.move(by: 30)
      #expect(view.selected == 19)
      take(50..<60, into: &view)
      #expect(view.selected == 19)
      #expect(text(view).contains { $0.contains("n=19") })
      view.move(by: -1_000)
      #expect(view.selected == 59)
      view.moveToEnd(isLast: true)
      #expect(view.selected == 0)
      view.isNewestFirst = false
      view.moveToEnd(isLast: true)
      #expect(view.selected == 59)
    }

    @Test func `of more events than are kept the newest stay, and all are counted`() {
      var view = view(TerminalView.mostRows)
      take(TerminalView.mostRows..<TerminalView.mostRows + 10, into: &view)
      #expect(view.rows.count == TerminalView.mostRows)
      #expect(view.rows.first?.offset == 10)
      #expect(text(view)[0].contains("showing 5,000 of 5,010"))
    }

    @Test func `a frame for a pipe is text without keys or trailing spaces`() {
      let lines = view(3).plainLines(width: 80, height: 12)
      #expect(lines.count == 11)
      #expect(!lines.contains { $0.hasSuffix(" ") })
      #expect(!lines.contains { $0.contains("q end") })
    }

    @Test func `states are taken anew`() {
      var view = view(2)
      var news = EventFeed.News()
      news.changes = [
        (0, EventFindings(states: [("http", .acknowledged)])),
        (1, EventFindings(flags: [.violating], states: [("http", .rejected)])),
      ]
      view.take(news)
      let lines = text(view)
      #expect(lines[3].contains("✕") && lines[3].contains("V") && lines[4].contains("●"))
    }

    @Test func `rows that match no more go, and those that match only now come, but not while the list is paused`() {
      var view = view(4)
      view.pause()
      var news = EventFeed.News()
      news.isCounted = false
      news.gone = [1...2]
      view.take(news)
      #expect(view.rows.map(\.offset) == [0, 1, 2, 3])
      take(late: [1], into: &view)
      view.pause()
      #expect(view.rows.map(\.offset) == [0, 1, 3])
      #expect(text(view)[0].contains("3 events"))
    }

    private func take(late offsets: [Offset], into view: inout TerminalView) {
      var news = EventFeed.News()
      news.isCounted = false
      news.late = offsets.map { offset in
        let event = StoredEvent(
          offset: offset, id: EventID(opening: 1, sequence: offset), time: Timestamp(nanosecondsSince1970: 0),
          name: "event", fields: [:])
        return EventFeed.Row(event: event, findings: EventFindings())
      }
      view.take(news)
    }
  }
#endif

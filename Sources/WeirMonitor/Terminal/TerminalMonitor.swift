// TerminalMonitor: the monitor in a terminal: the same frames as the page's, drawn by hand.

#if Monitor
  import Foundation
  package import Weir
  import WeirDelivery

  /// Shows a log live in a terminal. For the main thread of a program that does nothing else.
  package final class TerminalMonitor {
    private static let pace = Duration.milliseconds(80)
    /// How long one frame for a pipe looks at a log, at most: a log may grow faster than it is read.
    private static let longest = Duration.seconds(60)

    private let source: MonitorSource
    private let log: String?
    private var watch: LogWatch
    private let showsSensitive: Bool
    private let preview: EventDetails.Preview?
    /// The event that is shown, and the width for which its lines were made.
    private var details: (event: EventDetails, width: Int)?
    private let isStopped: () -> Bool
    private var view: TerminalView
    private var filter: EventFilter
    private var feed: EventFeed?

    /// Shows the log in a directory, or the log of this name in a subdirectory, with a filter. `isStopped` is asked at
    /// every frame.
    ///
    /// Throws `invalid` for a filter that can't be read, and if there is no log of this name.
    package init(
      directory: String, log: String?, filter: String, showsSensitive: Bool,
      preview: (@Sendable (StoredEvent) -> [(provider: String, text: String)])?, isStopped: @escaping () -> Bool
    ) throws(WeirError) {
      setlocale(LC_ALL, "")
      source = MonitorSource(directory)
      self.log = log
      self.showsSensitive = showsSensitive
      self.preview = preview
      self.isStopped = isStopped
      do throws(MonitorProblem) {
        watch = try source.watch(log)
      } catch {
        throw WeirError(.invalid, error.message, path: directory)
      }
      do throws(FilterError) {
        self.filter = try EventFilter(filter)
      } catch {
        throw WeirError(.invalid, error.message)
      }
      view = TerminalView(logName: URL(fileURLWithPath: watch.log.path).lastPathComponent)
      view.filter = filter
    }

    // MARK: One frame

    /// Returns one frame as lines, for a pipe or a script: the newest events that match, of all that the log has.
    ///
    /// Throws what `EventReader` throws.
    package func frame(width: Int, height: Int) throws(WeirError) -> [String] {
      let deadline = ContinuousClock.now + Self.longest
      var isAtEnd = false
      while !isAtEnd, !isStopped(), ContinuousClock.now < deadline { isAtEnd = try look() }
      return view.plainLines(width: width, height: height)
    }

    /// Looks at what is new. Returns whether nothing was left.
    private func look() throws(WeirError) -> Bool {
      if feed == nil {
        feed = try EventFeed(
          watch, filter, from: EventFeed.start(of: watch, filter), showsSensitive: showsSensitive)
      }
      guard let news = try feed?.look(until: .now + Self.pace) else { return true }
      view.take(news)
      return news.found.isAtEnd
    }

    // MARK: Live

    /// Shows frames until the reader ends it, or `isStopped` returns `true`.
    ///
    /// Throws `invalid` if there is no terminal, and what `EventReader` throws, except for a log that is not there: that
    /// one is waited for.
    package func run() throws(WeirError) {
      guard let screen = TerminalScreen() else {
        throw WeirError(
          .invalid, "there is no terminal to draw on, or TERM names none that is known; print one frame with --once")
      }
      defer { screen.close() }
      watch.come()
      defer { watch.go() }
      while !isStopped() {
        do throws(WeirError) {
          _ = try look()
          if view.mode == .sums { view.sums = try watch.sums() }
        } catch {
          guard error.code == .missing else { throw error }
          // The log may come, or come again: then from its beginning.
          if feed != nil { view.clear() }
          feed = nil
          view.isLive = nil
          if let other = try? source.watch(log), other !== watch { take(other) }
        }
        fitDetails(to: screen.width)
        screen.draw(view.lines(width: screen.width, height: screen.height))
        guard let key = screen.key(within: Int32(Self.pace / .milliseconds(1))) else { continue }
        if press(key, screen) { return }
      }
    }

    /// Watches another log: that of the name that was asked for came later.
    private func take(_ other: LogWatch) {
      watch.go()
      watch = other
      watch.come()
      view.logName = ShownText.shown(URL(fileURLWithPath: other.log.path).lastPathComponent)
    }

    /// Takes a key. Returns whether the reader wants to end.
    private func press(_ key: TerminalScreen.Key, _ screen: TerminalScreen) -> Bool {
      if view.edited != nil {
        edit(key)
        return false
      }
      let page = max(1, screen.height - 4)
      switch (view.mode, key) {
      case (_, .character("q")): return true
      case (.details(let texts, let from), .character("j")), (.details(let texts, let from), .down):
        scroll(texts, from + 1)
      case (.details(let texts, let from), .character("k")), (.details(let texts, let from), .up):
        scroll(texts, from - 1)
      case (.details(let texts, let from), .pageDown): scroll(texts, from + page)
      case (.details(let texts, let from), .pageUp): scroll(texts, from - page)
      case (.list, .escape): view.follow()
      case (_, .escape): view.mode = .list
      case (.list, .character("j")), (.list, .down): view.move(by: 1)
      case (.list, .character("k")), (.list, .up): view.move(by: -1)
      case (.list, .pageDown): view.move(by: page)
      case (.list, .pageUp): view.move(by: -page)
      case (.list, .home): view.moveToEnd(isLast: false)
      case (.list, .end): view.moveToEnd(isLast: true)
      case (.list, .enter): showDetails(screen)
      case (_, .character("p")), (_, .character(" ")): view.pause()
      case (_, .character("o")): view.isNewestFirst.toggle()
      case (_, .character("s")): view.mode = view.mode == .sums ? .list : .sums
      case (_, .character("?")): view.mode = view.mode == .help ? .list : .help
      case (_, .character("/")):
        view.mode = .list
        view.edited = view.filter
      default: break
      }
      return false
    }

    private func scroll(_ texts: [String], _ first: Int) {
      view.mode = .details(texts, from: min(max(0, first), max(0, texts.count - 1)))
    }

    private func showDetails(_ screen: TerminalScreen) {
      if view.selected == nil { view.moveToEnd(isLast: false) }
      guard let offset = view.selected else { return }
      do throws(WeirError) {
        details = (try EventDetails(watch, offset, showsSensitive: showsSensitive, preview: preview), 0)
        view.mode = .details([], from: 0)
        fitDetails(to: screen.width)
      } catch {
        view.error = error.message
      }
    }

    /// Wraps the lines of the event that is shown for another width.
    private func fitDetails(to width: Int) {
      guard case .details(_, let from) = view.mode, let shown = details, shown.width != width else { return }
      details?.width = width
      let texts = shown.event.lines(width: width)
      view.mode = .details(texts, from: min(from, max(0, texts.count - 1)))
    }

    private func edit(_ key: TerminalScreen.Key) {
      switch key {
      case .character(let character): view.edited?.append(character)
      case .backspace: _ = view.edited?.popLast()
      case .escape: view.edited = nil
      case .enter:
        let text = view.edited ?? ""
        view.edited = nil
        do throws(FilterError) {
          filter = try EventFilter(text)
          view.filter = text
          view.error = ""
          view.clear()
          feed = nil
        } catch {
          view.error = error.message
        }
      default: break
      }
    }
  }
#endif

// HTMLPage: a page of text and tables, without scripts and without anything from elsewhere.

/// A page that a monitor links to.
package enum HTMLPage {
  /// The page. A browser asks for a page that is reloaded again after two seconds.
  package static func text(_ title: String, _ body: String, isReloaded: Bool) -> String {
    let refresh = isReloaded ? "<meta http-equiv=\"refresh\" content=\"2\">\n" : ""
    return head + "<title>Weir: \(title.lowercased())</title>\n" + refresh + "<main>\n<h1>\(title)</h1>\n" + body
      + "</main>\n"
  }

  /// A table, of which the first rows are shown. Without rows nothing.
  package static func table(
    _ title: String, _ head: [String], _ rows: [[String]], mostRows: Int = 200
  ) -> String {
    guard !rows.isEmpty else { return "" }
    func row(_ cells: [String], _ element: String) -> String {
      let cells = cells.map { cell in
        let isNumber = !cell.isEmpty && cell.allSatisfy { $0.isNumber || $0 == "," }
        return "<\(element)\(isNumber ? " class=\"n\"" : "")>\(escaped(cell))</\(element)>"
      }
      return "<tr>" + cells.joined() + "</tr>\n"
    }
    let left = rows.count - mostRows
    return "<section>\n<h2>\(title)</h2>\n<table>\n" + row(head, "th")
      + rows.prefix(mostRows).map { row($0, "td") }.joined()
      + "</table>\n" + (left > 0 ? "<p>and \(left) more</p>\n" : "") + "</section>\n"
  }

  /// Text that no browser takes for an element, and in which marks that turn or hide text are seen.
  package static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "&": result += "&amp;"
      case "\"": result += "&quot;"
      default:
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
          result += "⟨\(String(scalar.value, radix: 16, uppercase: true))⟩"
        default: result.unicodeScalars.append(scalar)
        }
      }
    }
    return result
  }

  private static let head = """
    <!doctype html>
    <html lang="en">
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="icon" href="data:,">
    <style>
    :root { color-scheme: light dark; --line: light-dark(#dfdfda, #30353c); --mark: light-dark(#fdf1d6, #33290f); }
    body { margin: 0; background: light-dark(#f7f7f5, #14161a); color: light-dark(#1c1e21, #e3e6e9);
      font: 13px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
    main { max-width: 1100px; margin: 0 auto; padding: 12px 16px 40px; }
    h1 { font-size: 18px; } h2 { margin: 24px 0 6px; font-size: 14px; } h3 { margin: 16px 0 4px; font-size: 13px; }
    table { border-collapse: collapse; background: light-dark(#fff, #1a1d22); }
    .tables { display: flex; flex-wrap: wrap; gap: 0 32px; } section { max-width: 100%; overflow-x: auto; }
    th, td { padding: 3px 10px; border: 1px solid var(--line); text-align: left; vertical-align: top; }
    th { font-weight: 600; } .n { text-align: right; }
    .pair td { font-family: ui-monospace, monospace; font-size: 12px; overflow-wrap: anywhere; min-width: 16em; }
    .differs { background: var(--mark); } i { color: light-dark(#5a6067, #9ca4ad); }
    a { color: light-dark(#0a58a8, #74b4fb); }
    </style>

    """
}

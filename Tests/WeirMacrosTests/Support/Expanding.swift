// Expansion of source text by the macros, without a compiler, for the tests of what they write and what they refuse.

#if Macros
  import SwiftSyntaxMacros
  import SwiftSyntaxBuilder
  import SwiftParser
  import SwiftSyntax
  import SwiftSyntaxMacroExpansion
  import SwiftSyntaxMacrosGenericTestSupport
  import Testing

  /// `isConforming`: the type says itself that it is an event.
  private func macros(isConforming: Bool = false) -> [String: MacroSpec] {
    [
      "Event": MacroSpec(type: EventMacro.self, conformances: isConforming ? [] : ["Event"]),
      "Case": MacroSpec(type: CaseMacro.self),
      "Field": MacroSpec(type: FieldMacro.self),
      "Instrumented": MacroSpec(type: InstrumentedMacro.self),
      "JoinPoint": MacroSpec(type: JoinPointMacro.self),
      "FunctionJoinPoint": MacroSpec(type: FunctionJoinPointMacro.self),
    ]
  }

  /// Checks what a source becomes.
  func expectExpansion(
    _ source: String, _ expected: String, fileID: StaticString = #fileID, filePath: StaticString = #filePath,
    line: UInt = #line, column: UInt = #column
  ) {
    assertMacroExpansion(
      source, expandedSource: expected, macroSpecs: macros(), indentationWidth: .spaces(2), failureHandler: record,
      fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// What is refused: a message, with the fix that is offered and the note beside it.
  struct Refusal {
    var message: String
    var fix: String?
    /// The source after the fix.
    var fixed: String?
    /// The text of the note, which points at the mark ‹ in the source.
    var note: String?

    init(_ message: String, fix: String? = nil, fixed: String? = nil, note: String? = nil) {
      self.message = message
      self.fix = fix
      self.fixed = fixed
      self.note = note
    }
  }

  /// Checks that a source is refused, with one message for each mark « in it, which stands where the message points,
  /// and that @Event writes nothing; `ofOther` if it is another macro that refuses.
  func expectRefusal(
    _ marked: String, _ refusals: Refusal..., ofOther: Bool = false, fileID: StaticString = #fileID,
    filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
  ) {
    let place = TestFailureLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    let (source, marks) = taken("«", from: marked.replacing("‹", with: ""))
    let (_, noteMarks) = taken("‹", from: marked.replacing("«", with: ""))
    guard marks.count == refusals.count else {
      return record(TestFailureSpec(message: "\(marks.count) marks, \(refusals.count) messages", location: place))
    }
    let expanded = expand(source)
    if !ofOther, wasExpanded(expanded) {
      record(TestFailureSpec(message: "it was expanded all the same:\n\(expanded)", location: place))
    }
    let diagnostics = zip(refusals, marks).map { refusal, mark in
      DiagnosticSpec(
        message: refusal.message, line: mark.line, column: mark.column,
        notes: refusal.note.map { [NoteSpec(message: $0, line: noteMarks[0].line, column: noteMarks[0].column)] } ?? [],
        fixIts: refusal.fix.map { [FixItSpec(message: $0)] } ?? [])
    }
    assertMacroExpansion(
      source, expandedSource: expanded, diagnostics: diagnostics, macroSpecs: macros(),
      applyFixIts: refusals.compactMap(\.fix), fixedSource: refusals.compactMap(\.fixed).first,
      indentationWidth: .spaces(2), failureHandler: record, fileID: fileID, filePath: filePath, line: line,
      column: column)
  }

  /// Whether @Event wrote something.
  func wasExpanded(_ text: String) -> Bool { text.contains("nonisolated") || text.contains("Weir.Event") }

  /// Whether @Event takes a source.
  func isTaken(_ source: String) -> Bool { wasExpanded(expand(source)) }

  /// The text after expansion.
  func expand(_ source: String, isConforming: Bool = false) -> String {
    let file = Parser.parse(source: source)
    let context = BasicMacroExpansionContext(
      sourceFiles: [file: .init(moduleName: "Test", fullFilePath: "test.swift")])
    return file.expand(
      macroSpecs: macros(isConforming: isConforming),
      contextGenerator: { node in
        BasicMacroExpansionContext(sharingWith: context, lexicalContext: node.allMacroLexicalContexts())
      },
      indentationWidth: .spaces(2)
    ).description
  }

  private func record(_ failure: TestFailureSpec) {
    Issue.record(
      "\(failure.message)",
      sourceLocation: SourceLocation(
        fileID: failure.location.fileID, filePath: failure.location.filePath, line: failure.location.line,
        column: failure.location.column))
  }

  /// The text without its marks, and where they stood.
  private func taken(_ mark: Character, from text: String) -> (text: String, marks: [(line: Int, column: Int)]) {
    var marks: [(line: Int, column: Int)] = []
    var lines: [String] = []
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      var rest = ""
      for character in line {
        if character == mark {
          marks.append((number + 1, rest.utf8.count + 1))
        } else {
          rest.append(character)
        }
      }
      lines.append(rest)
    }
    return (lines.joined(separator: "\n"), marks)
  }
#endif

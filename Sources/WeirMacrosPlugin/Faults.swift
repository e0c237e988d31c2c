// Faults: the errors of a declaration, and their messages.
//
// A message says what is wrong and what to do. Quoted text is from the source.

#if Macros
  import SwiftDiagnostics
  import SwiftSyntax

  /// The faults, in the order in which they were found.
  struct Faults {
    private(set) var found: [Diagnostic] = []

    mutating func add(
      _ id: String, at node: some SyntaxProtocol, _ text: String, seen other: (node: Syntax, text: String)? = nil,
      fix: Fix? = nil
    ) {
      found.append(
        Diagnostic(
          node: node, message: Message(text: text, id: id),
          notes: other.map { [Note(node: $0.node, message: NoteText(text: $0.text))] } ?? [],
          fixIts: fix.map { [$0.fixIt] } ?? []))
    }
  }

  /// A change of the source that the compiler offers.
  struct Fix {
    var fixIt: FixIt

    /// Replaces `old` by `new` in the tree.
    init(_ text: String, _ old: some SyntaxProtocol, by new: some SyntaxProtocol) {
      fixIt = FixIt(
        message: FixText(text: text), changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
    }
  }

  private struct Message: DiagnosticMessage {
    let text: String
    let id: String

    var message: String { text }
    var diagnosticID: MessageID { MessageID(domain: "Weir", id: id) }
    var severity: DiagnosticSeverity { .error }
  }

  private struct NoteText: NoteMessage {
    let text: String

    var message: String { text }
    var noteID: MessageID { MessageID(domain: "Weir", id: "note") }
  }

  private struct FixText: FixItMessage {
    let text: String

    var message: String { text }
    var fixItID: MessageID { MessageID(domain: "Weir", id: "fix") }
  }
#endif

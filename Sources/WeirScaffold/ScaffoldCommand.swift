// ScaffoldCommand: `weir scaffold`, and what the package's plugin runs.

package import ArgumentParser
import Foundation

package struct ScaffoldCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "scaffold",
    abstract: "Write the files that something to be tracked begins with.",
    usage: "weir scaffold page <name> [<directory>] [<options>]",
    discussion: """
      What there is:
        page   a tracking handler, its delegate, a coordinator, an info
               struct, tests; the page itself, too, if there is none yet

      In a package that depends on Weir swift package has the same command, with \
      --target TARGET in place of the directory:
        swift package scaffold page Checkout --with-page
      It asks before it writes, unless it is run as \
      swift package --allow-writing-to-package-directory scaffold.

      See also: weir help scaffold page.
      """,
    subcommands: [ScaffoldPageCommand.self])

  package init() {}
}

package struct ScaffoldPageCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "page",
    abstract: "Write the tracking of a page, and its tests.",
    usage: """
      weir scaffold page <name> [<directory>] --with-page [<options>]
      weir scaffold page <name> [<directory>] --enters-on <method>
                         --exits-on <method> [--happens-on <method>]
                         [--class <class>] [<options>]
      """,
    discussion: """
      For a page called Checkout it writes, into the directory and the folder of tests:
        CheckoutInfo.swift              what is known about the page
        CheckoutTrackingDelegate.swift  whom the handler tells
        CheckoutTracking.swift          the handler: all hooks on the page
        CheckoutCoordinator.swift       a delegate that captures events
        CheckoutTrackingTests.swift     tests of these with a spy
        CheckoutPage.swift              with --with-page: the page itself
      They compile, and the tests pass. All of them are written, or none. What is there \
      already is not touched, unless --force is given.

      Without --with-page there is a class already, with join points: @Instrumented, or \
      by hand an enum JoinPoints in it. The options name the methods as \
      CheckoutPage.JoinPoints has them. The tests call these methods, and make a page; \
      where that takes arguments, or try and await, they are given here, too:
        --class 'CheckoutPage(cart: 7)' --enters-on 'try await load(retries: 0)'

      The directory is a target's folder, or one in it. Left out it is the current one; \
      in a package's own folder it is that of the only target.

      Exit codes: 0 done; 2 can't run, nothing was written; 3 the disk is full, nothing \
      was written.

      Examples:
        weir scaffold page Checkout --with-page
        weir scaffold page Checkout Sources/Shop --enters-on open --exits-on close
        weir scaffold page Search --class SearchView --enters-on open \\
                           --exits-on close --happens-on 'find(text: "")'
        weir scaffold page Checkout --with-page --dry-run
      """)

  /// How events and join points are declared.
  package enum Form: EnumerableFlag {
    case macro
    case byHand

    package static func help(for value: Form) -> ArgumentHelp? {
      switch value {
      case .macro:
        "Declare events with @Event, and the page with @Instrumented. The default if the package names WeirMacros."
      case .byHand: "Declare them without a macro. The default otherwise."
      }
    }
  }

  @Argument(help: "The page's name without the word page: Checkout, OrderHistory.")
  package var name: String

  @Argument(help: "The folder that the sources go to. The current one if it is left out.")
  package var directory: String?

  @Flag(help: "Write the page's class, too.")
  package var withPage = false

  @Option(
    name: .customLong("class"), help: "The page's class, as a test makes one. The name with Page if it is left out.")
  package var pageClass: String?

  @Option(help: "The method that enters the page. With --with-page appear if it is left out.")
  package var entersOn: String?

  @Option(help: "The method that leaves it. With --with-page disappear if it is left out.")
  package var exitsOn: String?

  @Option(help: "The method to capture an event for. With --with-page submit if it is left out, else none.")
  package var happensOn: String?

  @Flag(exclusivity: .chooseLast)
  package var form: Form?

  @Option(help: "The folder that the tests go to. Tests/TARGETTests if it is left out.")
  package var tests: String?

  @Option(help: "The module that the tests import. The directory's target if it is left out.")
  package var module: String?

  /// The plugin's word for what the directory is if it is left out.
  @Option(help: .hidden)
  package var targetDirectory: String?

  @Flag(help: "Replace files that are there already.")
  package var force = false

  @Flag(help: "Print the files, and write none.")
  package var dryRun = false

  package init() {}

  package func run() throws {
    let (output, missing) = try write()
    print(output, terminator: "")
    for line in missing { FileHandle.standardError.write(Data("weir: \(line)\n".utf8)) }
  }

  /// Does it, and answers what to say of it, and what the manifest lacks.
  func write() throws(ScaffoldError) -> (output: String, missing: [String]) {
    let name = try PageName(name)
    let place = try TargetPlace(directory ?? targetDirectory, tests: tests, module: module)
    let scaffold = try scaffold(name, place)
    try scaffold.check()
    let test = scaffold.test
    let files = NewFiles(
      files: scaffold.sources.map { NewFiles.File(path: join(place.sources, $0.file), text: $0.text) }
        + [NewFiles.File(path: join(place.tests, test.file), text: test.text)])
    let missing = missing(place, scaffold)
    if dryRun {
      try files.check(replacing: force)
      return (files.files.map { "==> \($0.path) <==\n\($0.text)\n" }.joined(), missing)
    }
    try files.write(replacing: force)
    return (files.files.map { "wrote \($0.path)\n" }.joined(), missing)
  }

  private func join(_ folder: String, _ file: String) -> String {
    folder == "." ? file : folder == "/" ? "/\(file)" : "\(folder)/\(file)"
  }

  private func scaffold(_ name: PageName, _ place: TargetPlace) throws(ScaffoldError) -> PageScaffold {
    let own = { (method: String) in withPage ? method : nil }
    guard let enters = entersOn ?? own(PageScaffold.ownEnters), let exits = exitsOn ?? own(PageScaffold.ownExits) else {
      throw ScaffoldError(
        "what enters and leaves the page is not said: give --enters-on and --exits-on, or --with-page for a new page"
      )
    }
    return PageScaffold(
      name: name, page: try TestCall(pageClass ?? "\(name.text)Page", option: "--class", isType: true),
      enters: try TestCall(enters, option: "--enters-on"), exits: try TestCall(exits, option: "--exits-on"),
      happens: try happening(), form: form(place), writesPage: withPage, module: place.module)
  }

  private func happening() throws(ScaffoldError) -> TestCall? {
    guard let method = happensOn ?? (withPage ? PageScaffold.ownHappens : nil) else { return nil }
    return try TestCall(method, option: "--happens-on")
  }

  private func form(_ place: TargetPlace) -> PageScaffold.Form {
    switch form {
    case .macro: .macro
    case .byHand: .byHand
    case nil: place.manifest.contains("\"WeirMacros\"") ? .macro : .byHand
    }
  }

  /// What the manifest has to name for the files to compile, and does not name anywhere.
  private func missing(_ place: TargetPlace, _ scaffold: PageScaffold) -> [String] {
    guard !place.manifest.isEmpty else { return [] }
    var products = ["Weir", "WeirTesting"]
    if scaffold.form == .macro { products.append("WeirMacros") }
    return products.filter { !place.manifest.contains("\"\($0)\"") }.map { product in
      let target = product == "WeirTesting" ? "the test target" : "the target"
      return
        "Package.swift does not name \(product): add .product(name: \"\(product)\", package: \"weir\") to \(target)"
    }
  }
}

#!/usr/bin/env python3
"""What `weir scaffold` and `swift package scaffold` write: scaffold.py ROOT BUILD SWIFT TOOL [JOBS]

Makes a new package beside the link to ROOT that quickstart.py leaves under BUILD, and builds into the same folder, so
that nothing is built twice. Writes pages into it with TOOL and with the plugin: by hand and with the macro, new ones and
the tracking of classes that are there. Then all of it has to be laid out well, to build without a warning, and to pass
its own tests. Also looks at what the plugin says where it can't know the target, and that a full disk leaves nothing.
"""

import os
import re
import resource
import shutil
import subprocess
import sys

MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6), .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error),
]
let weir = Target.Dependency.product(name: "Weir", package: "weir")
let macros = Target.Dependency.product(name: "WeirMacros", package: "weir")
let testing = Target.Dependency.product(name: "WeirTesting", package: "weir")

let package = Package(
  name: "shop",
  dependencies: [.package(name: "weir", path: "../weir", traits: ["Macros"])],
  targets: [
    .target(name: "ByHand", dependencies: [weir], swiftSettings: settings),
    .target(name: "with-macro", dependencies: [weir, macros], swiftSettings: settings),
    .target(name: "NoWeir", swiftSettings: settings),
    .testTarget(name: "ByHandTests", dependencies: ["ByHand", testing], swiftSettings: settings),
    .testTarget(name: "MacroTests", dependencies: ["with-macro", testing], swiftSettings: settings),
  ]
)
"""

# A class that is there already, whose methods take arguments, wait and throw.
SEARCH = """import Weir

final class SearchView {
  enum JoinPoints {
    static let open = JoinPoint<SearchView, (text: String, ()), Void>("SearchView.open(text:)")
    static let find = JoinPoint<SearchView, (), Int>("SearchView.find()")
    static let close = JoinPoint<SearchView, (), Void>("SearchView.close()")
  }

  private let limit: Int
  private var text = ""

  init(limit: Int) { self.limit = limit }

  func open(text: String) async throws {
    try await withJoinPoint(JoinPoints.open, self, (text: text, ())) {
      try await Task.sleep(for: .zero)
      self.text = text
    }
  }

  @discardableResult
  func find() -> Int {
    withJoinPoint(JoinPoints.find, self, ()) { min(limit, text.count) }
  }

  func close() async {
    await withJoinPoint(JoinPoints.close, self, ()) { await Task.yield() }
  }
}
"""

# Each page has as many tests.
TESTS = 3


def fail(message):
    sys.exit(f"scaffold: {message}")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def files(package):
    """What is in the folders of the targets."""
    return sorted(
        os.path.relpath(os.path.join(parent, name), package) for folder in ("Sources", "Tests")
        for parent, _, names in os.walk(os.path.join(package, folder)) for name in names)


def run(command, code=0, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != code:
        fail(f"{' '.join(command)} ended with status {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def make_package(root, build):
    """A new package beside a link to ROOT."""
    link = os.path.join(build, "weir")
    if not os.path.islink(link):
        os.makedirs(build, exist_ok=True)
        os.symlink(root, link)
    package = os.path.join(build, "scaffold")
    shutil.rmtree(package, ignore_errors=True)
    write(os.path.join(package, "Package.swift"), MANIFEST)
    for target in ("Sources/ByHand", "Sources/with-macro", "Sources/NoWeir", "Tests/ByHandTests", "Tests/MacroTests"):
        write(os.path.join(package, target, "Empty.swift"), "// A target needs a file.\n")
    write(os.path.join(package, "Sources/ByHand/SearchView.swift"), SEARCH)
    return package


def check_full_disk(tool, package):
    """At a file size limit the second file fails; the first one goes, too."""
    before = files(package)
    said = run([tool, "scaffold", "page", "Checkout", "Sources/ByHand", "--with-page"], 3, cwd=package,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500)))
    if "nothing was written" not in said or "TrackingDelegate.swift" not in said or files(package) != before:
        fail(f"a full disk left {files(package)}, and said:\n{said}")
    print("ok: a full disk half way leaves nothing behind")


def write_with_tool(tool, package):
    """New pages by hand and with the macro, and the tracking of a class that is there, with and without a happening."""
    here = {"cwd": package}
    run([tool, "scaffold", "page", "Checkout", "Sources/ByHand", "--with-page", "--by-hand"], **here)
    run([tool, "scaffold", "page", "OrderHistory", "Sources/ByHand", "--with-page", "--by-hand", "--class", "Orders",
         "--enters-on", "open", "--exits-on", "close", "--happens-on", "reorder"], **here)
    search = ["--class", "SearchView(limit: 3)", "--enters-on", 'try await open(text: "a")', "--exits-on",
              "await close", "--by-hand"]
    run([tool, "scaffold", "page", "Search", "Sources/ByHand", *search, "--happens-on", "find"], **here)
    run([tool, "scaffold", "page", "Quiet", "Sources/ByHand", *search], **here)
    macro = ["--tests", "Tests/MacroTests"]
    said = run([tool, "scaffold", "page", "Basket", "Sources/with-macro", "--with-page", *macro], **here)
    if said.splitlines()[0] != "wrote Sources/with-macro/BasketInfo.swift":
        fail(f"the tool said:\n{said}")
    return 5


def write_with_plugin(swift, scratch, package):
    """The same through SwiftPM; what it can't know, it asks for, and names what there is."""
    command = [swift, "package", "--scratch-path", scratch, "--allow-writing-to-package-directory", "scaffold", "page"]
    before = files(package)
    for target, problem in (([], "more than one target depends on Weir; name one with --target: ByHand, with-macro"),
                            (["--target", "Gone"], "there is no target Gone; those that depend on Weir: ByHand, with-macro"),
                            (["--target", "NoWeir"], "the target NoWeir does not depend on Weir"),
                            (["--target", "ByHand"], "are there already; nothing was written")):
        said = run(command + ["Checkout", "--with-page", *target], 1, cwd=package)
        if problem not in said or files(package) != before:
            fail(f"the plugin said, for {target}:\n{said}")
    # Its form, its module and its test target, neither of whose names is the target's, are as the manifest has them.
    run(command + ["Checkout", "--target", "with-macro", "--with-page"], cwd=package)
    run(command + ["Wishlist", "--target=ByHand", "--with-page"], cwd=package)
    for path, text in (("Sources/with-macro/CheckoutPage.swift", "@Instrumented"),
                       ("Sources/ByHand/WishlistPage.swift", "withJoinPoint"),
                       ("Tests/MacroTests/CheckoutTrackingTests.swift", "@testable import with_macro")):
        with open(os.path.join(package, path), encoding="utf-8") as file:
            if text not in file.read():
                fail(f"{path} has no {text}")
    print("ok: swift package scaffold")
    return 2


def main():
    root, build, swift, tool = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), *sys.argv[3:5]
    tool = os.path.abspath(tool)
    jobs = sys.argv[5] if len(sys.argv) > 5 else "2"
    scratch = os.path.join(build, "build")
    package = make_package(root, build)
    check_full_disk(tool, package)
    pages = write_with_tool(tool, package) + write_with_plugin(swift, scratch, package)

    configuration = os.path.join(root, ".swift-format")
    for options in (["--configuration", configuration], []):
        run([swift, "format", "lint", "--strict", *options, "-r", "Sources", "Tests"], cwd=package)
    print("ok: what is scaffolded is laid out as swift format wants it")

    common = ["--package-path", package, "--scratch-path", scratch]
    if subprocess.run([swift, "build", "-j", jobs, "--build-tests", *common], check=False).returncode != 0:
        fail("what is scaffolded does not build")
    said = run(["timeout", "-s", "KILL", "900", swift, "test", "--skip-build", "--disable-xctest", *common],
               env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
    if not re.search(rf"Test run with {pages * TESTS} tests in {pages} suites passed", said):
        fail(f"not all {pages * TESTS} tests of {pages} pages were run:\n{said[-2000:]}")
    print(f"ok: {pages} scaffolded pages build, and their {pages * TESTS} tests pass")


main()

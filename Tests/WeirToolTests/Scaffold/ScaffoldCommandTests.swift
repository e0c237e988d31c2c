// ScaffoldCommandTests: where the files go, and what the command says where it can't know.

import ArgumentParser
import Foundation
import Testing

@testable import WeirScaffold

struct ScaffoldCommandTests {
  private let folder: ScaffoldFolder

  init() throws { folder = try ScaffoldFolder() }

  private func makePackage(_ manifest: String = "\"Weir\" \"WeirTesting\"", targets: String...) throws {
    try folder.write("Package.swift", manifest)
    for target in targets {
      try folder.write("Sources/\(target)/File.swift", "")
      try folder.write("Tests/\(target)Tests/File.swift", "")
    }
  }

  /// Runs it as the arguments have it, and answers what it says.
  @discardableResult
  private func run(
    _ name: String, _ options: [String] = ["--with-page"], at place: String = ""
  ) throws -> (output: String, missing: [String]) {
    let path = place.isEmpty ? folder.path : "\(folder.path)/\(place)"
    let command = try ScaffoldCommand.parseAsRoot(["page", name, path] + options)
    return try #require(command as? ScaffoldPageCommand).write()
  }

  private func message(_ body: () throws -> Void) -> String {
    #expect(throws: ScaffoldError.self) { try body() }?.message ?? ""
  }

  private var written: [String] { folder.names.filter { $0.contains("Checkout") } }

  @Test func `a scaffold goes into the only target`() throws {
    try makePackage(targets: "Shop")
    let said = try run("Checkout")
    #expect(said.output.split(separator: "\n").count == 6)
    #expect(said.missing.isEmpty)
    #expect(said.output.contains("wrote \(folder.path)/Sources/Shop/CheckoutPage.swift\n"))
    #expect(
      written == [
        "Sources/Shop/CheckoutCoordinator.swift", "Sources/Shop/CheckoutInfo.swift", "Sources/Shop/CheckoutPage.swift",
        "Sources/Shop/CheckoutTracking.swift", "Sources/Shop/CheckoutTrackingDelegate.swift",
        "Tests/ShopTests/CheckoutTrackingTests.swift",
      ])
    let test = try #require(folder.contents["Tests/ShopTests/CheckoutTrackingTests.swift"])
    #expect(test.contains("@testable import Shop\n"))

    // A second time it is all there already.
    let before = folder.contents
    #expect(message { try run("Checkout") }.contains("are there already"))
    #expect(folder.contents == before)
    try folder.write("Sources/Shop/CheckoutInfo.swift", "changed")
    try run("Checkout", ["--with-page", "--force"])
    #expect(folder.contents == before)
  }

  @Test(arguments: ["Views/CheckoutInfo.swift", "checkoutinfo.swift"])
  func `a name that the module has is refused`(file: String) throws {
    try makePackage(targets: "Shop")
    try folder.write("Sources/Shop/\(file)", "")
    try folder.write("Sources/Other/CheckoutInfo.swift", "")
    let before = folder.contents
    let said = message { try run("Checkout", at: "Sources/Shop") }
    #expect(said.contains("CheckoutInfo.swift would have the name of "))
    #expect(said.contains("/Sources/Shop/\(file)"))
    #expect(folder.contents == before)
  }

  @Test func `a scaffold goes into a folder of a target`() throws {
    try makePackage(targets: "other", "my-shop")
    try folder.write("Sources/my-shop/Pages/File.swift", "")
    try run("Checkout", ["--enters-on", "open", "--exits-on", "close"], at: "Sources/my-shop/Pages/")
    #expect(written.contains("Sources/my-shop/Pages/CheckoutTracking.swift"))
    #expect(written.count == 5)
    let test = try #require(folder.contents["Tests/my-shopTests/CheckoutTrackingTests.swift"])
    #expect(test.contains("@testable import my_shop\n"))
  }

  @Test func `a scaffold goes by options alone where there is no package`() throws {
    try folder.write("code/File.swift", "")
    try run(
      "Checkout", ["--with-page", "--module", "Shop", "--tests", "\(folder.path)/checks/"], at: "code")
    #expect(written.contains("code/CheckoutPage.swift"))
    #expect(written.contains("checks/CheckoutTrackingTests.swift"))
  }

  /// The plugin says first what holds unless the user says otherwise.
  @Test func `the user has the last word`() throws {
    try makePackage(targets: "Shop", "Other")
    let first = [
      "page", "--target-directory", "\(folder.path)/Sources/Shop", "--module", "First", "--tests",
      "\(folder.path)/Tests/ShopTests", "--macro", "Checkout", "--with-page",
    ]
    let last = [
      "\(folder.path)/Sources/Other", "--module", "Last", "--tests", "\(folder.path)/Tests/OtherTests", "--by-hand",
    ]
    for (arguments, place, module, isMacro) in [(first, "Shop", "First", true), (first + last, "Other", "Last", false)]
    {
      _ = try #require(ScaffoldCommand.parseAsRoot(arguments) as? ScaffoldPageCommand).write()
      #expect(folder.contents["Sources/\(place)/CheckoutPage.swift"]?.contains("@Instrumented") == isMacro)
      let test = folder.contents["Tests/\(place)Tests/CheckoutTrackingTests.swift"]
      #expect(test?.contains("@testable import \(module)\n") == true)
    }
  }

  /// The form follows what the package names, unless an option says it.
  @Test(arguments: [
    ("\"WeirMacros\"", [], true), ("\"WeirMacros\"", ["--by-hand"], false), ("\"Weir\"", [], false),
    ("\"Weir\"", ["--macro"], true),
  ])
  func `the form follows an option, or else the package`(manifest: String, options: [String], isMacro: Bool) throws {
    try makePackage(manifest, targets: "Shop")
    let missing = try run("Checkout", ["--with-page"] + options).missing
    let lacks = ["Weir", "WeirTesting", "WeirMacros"].filter { product in
      (isMacro || product != "WeirMacros") && manifest != "\"\(product)\""
    }
    #expect(missing.map { $0.split(separator: "\"")[1] } == lacks.map { $0[...] })
    #expect(folder.contents["Sources/Shop/CheckoutPage.swift"]?.contains("@Instrumented") == isMacro)
  }

  @Test func `a dry run writes nothing`() throws {
    try makePackage(targets: "Shop")
    let output = try run("Checkout", ["--with-page", "--dry-run"]).output
    #expect(output.hasPrefix("==> \(folder.path)/Sources/Shop/CheckoutInfo.swift <==\n// CheckoutInfo: "))
    #expect(output.split(separator: "\n").count { $0.hasPrefix("==> ") } == 6)
    #expect(written.isEmpty)
    try folder.write("Sources/Shop/CheckoutInfo.swift", "old")
    #expect(message { try run("Checkout", ["--with-page", "--dry-run"]) }.contains("is there already"))
    try run("Checkout", ["--with-page", "--dry-run", "--force"])
    #expect(folder.contents["Sources/Shop/CheckoutInfo.swift"] == "old")
  }

  /// Each says what is missing, and leaves the package as it was.
  @Test func `a scaffold that lacks something says what it is`() throws {
    #expect(message { try run("Checkout") }.contains("is not in Sources/TARGET"))
    try folder.write("Package.swift", "")
    #expect(message { try run("Checkout") }.contains("has no folder Sources/TARGET"))
    try folder.write("Sources/Shop/File.swift", "")
    #expect(message { try run("Checkout") }.contains("no folder \(folder.path)/Tests/ShopTests"))
    try folder.write("Tests/ShopTests/File.swift", "")
    for options in [["--enters-on", "open"], ["--exits-on", "close"], []] {
      let message = message {
        try run("Checkout", options)
      }
      #expect(message.contains("give --enters-on and --exits-on, or --with-page"))
    }
    #expect(message { try run("Checkout", at: "nowhere") }.contains("nowhere is no folder"))
    #expect(message { try run("Checkout", ["--with-page", "--module", "a-b"]) }.hasPrefix("--module is a-b"))
    #expect(message { try run("checkout") }.contains("is no name for a page"))
    #expect(
      message { try run("Checkout", ["--with-page", "--class", "CheckoutInfo"]) }.contains("another of the files"))
    try folder.write("Sources/Other/File.swift", "")
    let list = "\(folder.path)/Sources/Other, \(folder.path)/Sources/Shop"
    #expect(message { try run("Checkout") }.hasSuffix("name the folder of one: \(list)"))
    #expect(written.isEmpty)
  }
}

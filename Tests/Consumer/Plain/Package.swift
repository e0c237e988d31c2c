// swift-tools-version: 6.2
// A package that uses Weir and nothing else of it.
import PackageDescription

let package = Package(
  name: "consumer",
  dependencies: [.package(name: "weir", path: "../library")],
  targets: [.executableTarget(name: "Consumer", dependencies: [.product(name: "Weir", package: "weir")])]
)

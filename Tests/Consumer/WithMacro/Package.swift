// swift-tools-version: 6.2
// A package that uses the macro.
import PackageDescription

let package = Package(
  name: "consumer",
  dependencies: [.package(name: "weir", path: "../library", traits: ["Macros"])],
  targets: [
    .executableTarget(
      name: "Consumer",
      dependencies: [
        .product(name: "Weir", package: "weir")
      ])
  ]
)

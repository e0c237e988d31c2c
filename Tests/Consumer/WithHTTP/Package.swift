// swift-tools-version: 6.2
// A package that delivers over HTTP.
import PackageDescription

let package = Package(
  name: "consumer",
  dependencies: [.package(name: "weir", path: "../library", traits: ["HTTP"])],
  targets: [
    .executableTarget(
      name: "Consumer",
      dependencies: [
        .product(name: "Weir", package: "weir"), .product(name: "WeirHTTP", package: "weir"),
      ])
  ]
)

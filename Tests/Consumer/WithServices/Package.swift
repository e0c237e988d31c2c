// swift-tools-version: 6.2
// A package that delivers as a service and has the counts as metrics.
import PackageDescription

let package = Package(
  name: "consumer",
  dependencies: [.package(name: "weir", path: "../library", traits: ["Lifecycle", "Metrics"])],
  targets: [
    .executableTarget(
      name: "Consumer",
      dependencies: [
        .product(name: "Weir", package: "weir"), .product(name: "WeirLifecycle", package: "weir"),
        .product(name: "WeirMetrics", package: "weir"),
      ])
  ]
)

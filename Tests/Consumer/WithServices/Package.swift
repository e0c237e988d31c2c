// swift-tools-version: 6.2
// A package that delivers as a service, has the counts as metrics, and reads plans from its configuration.
import PackageDescription

let package = Package(
  name: "consumer",
  dependencies: [.package(name: "weir", path: "../library", traits: ["Lifecycle", "Metrics", "Configuration"])],
  targets: [
    .executableTarget(
      name: "Consumer",
      dependencies: [
        .product(name: "Weir", package: "weir"), .product(name: "WeirLifecycle", package: "weir"),
        .product(name: "WeirMetrics", package: "weir"), .product(name: "WeirConfiguration", package: "weir"),
      ])
  ]
)

// swift-tools-version: 6.2
// A service as a program of somebody else would have it: requests as events, audited orders, delivery, configuration.
// A package of its own: what it fetches, a program fetches that asks for these traits.
import PackageDescription

let swiftSettings: [SwiftSetting] = [
  .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error),
]

let package = Package(
  name: "weir-example-service",
  products: [
    .executable(name: "order-service", targets: ["OrderService"]),
    .executable(name: "middleware-bench", targets: ["MiddlewareBench"]),
  ],
  dependencies: [
    .package(name: "weir", path: "../..", traits: ["Hummingbird", "Lifecycle", "Configuration"]),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "OrderService",
      dependencies: [
        .product(name: "Weir", package: "weir"), .product(name: "WeirDelivery", package: "weir"),
        .product(name: "WeirHummingbird", package: "weir"), .product(name: "WeirLifecycle", package: "weir"),
        .product(name: "WeirConfiguration", package: "weir"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      swiftSettings: swiftSettings
    ),
    // What the middleware costs, without a network.
    .executableTarget(
      name: "MiddlewareBench",
      dependencies: [
        .product(name: "Weir", package: "weir"), .product(name: "WeirHummingbird", package: "weir"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      swiftSettings: swiftSettings
    ),
  ]
)

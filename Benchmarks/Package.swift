// swift-tools-version: 6.2
// The benchmarks, in a package of their own: what they depend on never reaches users of Weir.
import PackageDescription

let swiftSettings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .treatAllWarnings(as: .error),
]

let cSettings: [CSetting] = [
  .enableWarning("all"),
  .enableWarning("extra"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "weir-benchmarks",
  products: [
    .executable(name: "capture-bench", targets: ["CaptureBench"]),
    .executable(name: "delivery-bench", targets: ["DeliveryBench"]),
    .executable(name: "hook-bench", targets: ["HookBench"]),
    .executable(name: "logging-bench", targets: ["LoggingBench"]),
    .executable(name: "scope-bench", targets: ["ScopeBench"]),
    .executable(name: "request-bench", targets: ["RequestBench"]),
  ],
  dependencies: [
    .package(name: "weir", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  ],
  targets: [
    .target(
      name: "CaptureSubjects",
      dependencies: [.product(name: "CWeir", package: "weir")],
      cSettings: cSettings
    ),
    .executableTarget(
      name: "CaptureBench",
      dependencies: [
        "CaptureSubjects",
        .product(name: "Weir", package: "weir"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "HookBench",
      dependencies: [
        .product(name: "Weir", package: "weir"),
        .product(name: "WeirAspects", package: "weir"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "LoggingBench",
      dependencies: [
        "CaptureSubjects",
        .product(name: "Weir", package: "weir"),
        .product(name: "WeirLogging", package: "weir"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "ScopeBench",
      dependencies: [
        .product(name: "Weir", package: "weir"),
        .product(name: "WeirScopes", package: "weir"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "RequestBench",
      dependencies: [
        .product(name: "Weir", package: "weir"),
        .product(name: "WeirContracts", package: "weir"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "DeliveryBench",
      dependencies: [
        .product(name: "Weir", package: "weir"),
        .product(name: "WeirContracts", package: "weir"),
        .product(name: "WeirDelivery", package: "weir"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: swiftSettings
    ),
  ]
)

// The micro-benchmarks bring six packages, need Swift 6.3 and, as a plugin's tools are built for whatever is built,
// cost every build a third more: only with `make bench-micro`, which sets this.
if Context.environment["WEIR_MICRO"] != nil {
  // Without traits: its default ones interpose the allocator.
  package.dependencies.append(.package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []))
  package.targets.append(
    .executableTarget(
      name: "WeirBenchmarks",
      dependencies: [
        "CaptureSubjects",
        .product(name: "Weir", package: "weir"),
        .product(name: "Benchmark", package: "benchmark"),
      ],
      path: "Benchmarks/WeirBenchmarks",
      swiftSettings: swiftSettings,
      plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
    ))
}

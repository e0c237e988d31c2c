// swift-tools-version: 6.2
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
  .define("WEIR_FAULT_INJECTION", .when(configuration: .debug)),
]

let package = Package(
  name: "weir",
  products: [
    .library(name: "Weir", targets: ["Weir"]),
    .library(name: "CWeir", targets: ["CWeir"]),
    .executable(name: "weir", targets: ["WeirTool"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: [
    .target(name: "CWeir", cSettings: cSettings),
    .target(
      name: "Weir",
      dependencies: ["CWeir", .product(name: "Logging", package: "swift-log")],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "WeirTool",
      dependencies: ["Weir", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      resources: [.copy("Sample")],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "WeirTests",
      dependencies: ["Weir", "CWeir", .product(name: "Logging", package: "swift-log")],
      swiftSettings: swiftSettings
    ),
    .testTarget(name: "WeirToolTests", dependencies: ["WeirTool"], swiftSettings: swiftSettings),
    .testTarget(
      name: "EndToEndTests",
      dependencies: ["WeirTool", "Weir"],
      swiftSettings: swiftSettings
    ),
  ]
)

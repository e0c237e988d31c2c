// swift-tools-version: 6.2
// A small web service, to be measured with Weir in it and without. A package of its own: no other benchmark fetches a
// web framework.
import PackageDescription

let package = Package(
  name: "weir-benchmark-service",
  products: [.executable(name: "shop", targets: ["Shop"])],
  dependencies: [
    .package(name: "weir", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: [
    .executableTarget(
      name: "Shop",
      dependencies: [
        .product(name: "Weir", package: "weir"),
        .product(name: "WeirContracts", package: "weir"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error)]
    )
  ]
)

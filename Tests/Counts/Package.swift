// swift-tools-version: 6.2
// What captures from Swift do, counted in a release build; a package of its own, so that users of Weir never see it.
import PackageDescription

let package = Package(
  name: "weir-counts",
  dependencies: [
    .package(name: "weir", path: "../.."),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: [
    .target(
      name: "Counting",
      cSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]
    ),
    .executableTarget(
      name: "SwiftCounts",
      dependencies: [
        "Counting", .product(name: "Weir", package: "weir"), .product(name: "WeirAspects", package: "weir"),
        .product(name: "WeirLogging", package: "weir"), .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .treatAllWarnings(as: .error),
      ]
    ),
  ]
)

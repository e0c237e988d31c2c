// swift-tools-version: 6.2
// A program that uses Weir as an adopter's does, for a build with --sanitize=thread; a package of its own, so that users
// of Weir never see it.
import PackageDescription

let package = Package(
  name: "weir-thread-sanitizer",
  dependencies: [
    .package(name: "weir", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "Adopter",
      dependencies: [
        .product(name: "Weir", package: "weir"), .product(name: "WeirAspects", package: "weir"),
        .product(name: "WeirDelivery", package: "weir"), .product(name: "WeirScopes", package: "weir"),
        .product(name: "WeirTesting", package: "weir"),
      ],
      swiftSettings: [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .treatAllWarnings(as: .error),
      ]
    )
  ]
)

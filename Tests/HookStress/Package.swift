// swift-tools-version: 6.2
// Hooks attached and detached while they fire; a package of its own, so that users of Weir never see it.
import PackageDescription

let package = Package(
  name: "weir-hook-stress",
  dependencies: [
    .package(name: "weir", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "HookStress",
      dependencies: [.product(name: "Weir", package: "weir"), .product(name: "WeirAspects", package: "weir")],
      swiftSettings: [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .treatAllWarnings(as: .error),
      ]
    )
  ]
)

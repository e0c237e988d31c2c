// swift-tools-version: 6.2
import CompilerPluginSupport
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
    .library(name: "WeirMacros", targets: ["WeirMacros"]),
    .library(name: "WeirYAML", targets: ["WeirYAML"]),
    .library(name: "WeirTesting", targets: ["WeirTesting"]),
    .executable(name: "weir", targets: ["WeirToolMain"]),
  ],
  // What only some need is fetched only for those who ask for it. Each name is also a compilation condition.
  traits: [
    .trait(name: "Macros", description: "WeirMacros, the @Event macro: fetches and builds swift-syntax."),
    .trait(name: "YAML", description: "WeirYAML, contracts from YAML files, also in the tool: fetches Yams."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.0"),
  ],
  targets: [
    .target(name: "CWeir", cSettings: cSettings),
    .target(
      name: "Weir",
      dependencies: ["CWeir", .product(name: "Logging", package: "swift-log")],
      swiftSettings: swiftSettings
    ),
    .target(name: "WeirMacros", dependencies: ["Weir", "WeirMacrosPlugin"], swiftSettings: swiftSettings),
    .macro(
      name: "WeirMacrosPlugin",
      dependencies: [
        .product(name: "SwiftCompilerPlugin", package: "swift-syntax", condition: .when(traits: ["Macros"])),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax", condition: .when(traits: ["Macros"])),
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirYAML",
      dependencies: ["Weir", .product(name: "Yams", package: "Yams", condition: .when(traits: ["YAML"]))],
      swiftSettings: swiftSettings
    ),
    .target(name: "WeirTesting", dependencies: ["Weir", "CWeir"], swiftSettings: swiftSettings),
    .target(
      name: "WeirTool",
      dependencies: [
        "Weir", "WeirYAML", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      resources: [.copy("Sample")],
      swiftSettings: swiftSettings
    ),
    // Apart from the tool itself, whose tests need a library: beside a macro, SwiftPM builds the tests of an executable
    // before the executable.
    .executableTarget(name: "WeirToolMain", dependencies: ["WeirTool"], swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirTests",
      dependencies: ["Weir", "CWeir", .product(name: "Logging", package: "swift-log")],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "WeirMacrosTests",
      dependencies: [
        "Weir", "WeirMacros", "WeirMacrosPlugin", "WeirTesting",
        .product(
          name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax", condition: .when(traits: ["Macros"])),
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(name: "WeirTestingTests", dependencies: ["Weir", "WeirTesting"], swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirToolTests", dependencies: ["WeirTool", "Weir", "WeirTesting", "WeirYAML"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ExampleTests", dependencies: ["Weir", "WeirTesting", "WeirMacros"], swiftSettings: swiftSettings),
    .testTarget(
      name: "EndToEndTests",
      dependencies: ["WeirToolMain", "Weir"],
      swiftSettings: swiftSettings
    ),
  ]
)

// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

let swiftSettings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let cSettings: [CSetting] = [
  .headerSearchPath("."),
  .enableWarning("all"),
  .enableWarning("extra"),
  .treatAllWarnings(as: .error),
  .define("WEIR_FAULT_INJECTION", .when(configuration: .debug)),
]

let package = Package(
  name: "weir",
  products: [
    .library(name: "Weir", targets: ["Weir"]),
    .library(name: "WeirContracts", targets: ["WeirContracts"]),
    .library(name: "WeirDelivery", targets: ["WeirDelivery"]),
    .library(name: "WeirScopes", targets: ["WeirScopes"]),
    .library(name: "WeirAspects", targets: ["WeirAspects"]),
    .library(name: "CWeir", targets: ["CWeir"]),
    .library(name: "WeirYAML", targets: ["WeirYAML"]),
    .library(name: "WeirHTTP", targets: ["WeirHTTP"]),
    .library(name: "WeirLogging", targets: ["WeirLogging"]),
    .library(name: "WeirLifecycle", targets: ["WeirLifecycle"]),
    .library(name: "WeirMetrics", targets: ["WeirMetrics"]),
    .library(name: "WeirConfiguration", targets: ["WeirConfiguration"]),
    .library(name: "WeirHummingbird", targets: ["WeirHummingbird"]),
    .library(name: "WeirMonitor", targets: ["WeirMonitor"]),
    .library(name: "WeirReconcile", targets: ["WeirReconcile"]),
    .library(name: "WeirFleet", targets: ["WeirFleet"]),
    .library(name: "WeirNATS", targets: ["WeirNATS"]),
    .library(name: "WeirKafka", targets: ["WeirKafka"]),
    .library(name: "WeirTesting", targets: ["WeirTesting"]),
    .executable(name: "weir", targets: ["WeirToolMain"]),
    .plugin(name: "WeirContractPlugin", targets: ["WeirContractPlugin"]),
  ],
  // What only some need is fetched only for those who ask for it. Each name is also a compilation condition.
  traits: [
    .trait(name: "Tool", description: "The tool, weir, without which it only says so: fetches swift-argument-parser."),
    .trait(name: "Macros", description: "The macros @Event and @Instrumented: fetches and builds swift-syntax."),
    .trait(name: "YAML", description: "WeirYAML, contracts from YAML files, also in the tool: fetches Yams."),
    .trait(name: "HTTP", description: "WeirHTTP, delivery over HTTP, also in the tool: fetches async-http-client."),
    .trait(name: "Lifecycle", description: "WeirLifecycle, delivery as a service: fetches swift-service-lifecycle."),
    .trait(name: "Metrics", description: "WeirMetrics, all counts as metrics: fetches swift-metrics."),
    .trait(name: "Configuration", description: "WeirConfiguration, plans from it: fetches swift-configuration."),
    .trait(name: "Hummingbird", description: "WeirHummingbird, requests as events: fetches hummingbird."),
    .trait(name: "Monitor", description: "WeirMonitor, a live page of a log, also in the tool: fetches hummingbird."),
    .trait(name: "NATS", description: "WeirNATS, batches through NATS JetStream, also in the tool: needs nats.c."),
    .trait(name: "Kafka", description: "WeirKafka, batches through Kafka, also in the tool: needs librdkafka."),
    .trait(
      name: "Collector", description: "The tool's command collect, an endpoint for tests: fetches hummingbird.",
      enabledTraits: ["Tool"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    // Without traits: the package's default trait needs all of Foundation, to read files that Weir does not read.
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "3.0.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.0"),
  ],
  targets: [
    .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CNcurses", providers: [.apt(["libncurses-dev"])]),
    .systemLibrary(name: "CNATS", providers: [.apt(["libnats-dev"])]),
    .systemLibrary(name: "CKafka", providers: [.apt(["librdkafka-dev"])]),
    // The library is named here too: without pkg-config, SwiftPM finds no liblz4.pc in Debian's folders.
    .target(
      name: "CWeir", dependencies: ["CLZ4"], cSettings: cSettings, linkerSettings: [.linkedLibrary("lz4")]),
    // Capture and reading back. Everything on the path of a capture is in here: it inlines into the user's code.
    .target(
      name: "Weir",
      dependencies: [
        "CWeir", .target(name: "WeirMacrosPlugin", condition: .when(traits: ["Macros"])),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: swiftSettings
    ),
    .target(name: "WeirJSON", dependencies: ["Weir"], swiftSettings: swiftSettings),
    .target(
      name: "WeirContracts",
      dependencies: ["Weir", "WeirJSON", .product(name: "Logging", package: "swift-log")],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirDelivery",
      dependencies: ["Weir", "WeirJSON", "WeirContracts", "CLZ4", .product(name: "Logging", package: "swift-log")],
      swiftSettings: swiftSettings
    ),
    // A log beside a control: matched event by event.
    .target(
      name: "WeirReconcile", dependencies: ["Weir", "WeirJSON", "WeirContracts", "WeirDelivery"],
      swiftSettings: swiftSettings
    ),
    // The logs of many hosts in one, from the messages of a broker.
    .target(name: "WeirFleet", dependencies: ["Weir", "WeirDelivery"], swiftSettings: swiftSettings),
    .target(
      name: "WeirNATS",
      dependencies: [
        "Weir", "WeirDelivery", "WeirFleet", .target(name: "CNATS", condition: .when(traits: ["NATS"])),
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirKafka",
      dependencies: [
        "Weir", "WeirDelivery", "WeirFleet", .target(name: "CKafka", condition: .when(traits: ["Kafka"])),
      ],
      swiftSettings: swiftSettings
    ),
    // Swift code of contracts, at every build of a target that uses the plugin.
    .executableTarget(name: "WeirContractCode", dependencies: ["WeirContracts"], swiftSettings: swiftSettings),
    .plugin(name: "WeirContractPlugin", capability: .buildTool(), dependencies: ["WeirContractCode"]),
    // A back end of swift-log.
    .target(
      name: "WeirLogging", dependencies: ["Weir", .product(name: "Logging", package: "swift-log")],
      swiftSettings: swiftSettings),
    .target(name: "WeirScopes", dependencies: ["Weir", "CWeir"], swiftSettings: swiftSettings),
    .target(
      name: "WeirAspects",
      dependencies: [
        "Weir", "WeirScopes", "CWeir", .target(name: "WeirMacrosPlugin", condition: .when(traits: ["Macros"])),
      ],
      swiftSettings: swiftSettings
    ),
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
      dependencies: [
        "Weir", "WeirJSON", "WeirContracts", "WeirDelivery",
        .product(name: "Yams", package: "Yams", condition: .when(traits: ["YAML"])),
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirHTTP",
      dependencies: [
        "Weir", "WeirDelivery", .target(name: "CZlib", condition: .when(traits: ["HTTP"])),
        .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["HTTP"])),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["HTTP"])),
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
        .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["HTTP"])),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["HTTP"])),
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirLifecycle",
      dependencies: [
        "Weir", "WeirDelivery",
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Lifecycle"])),
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirMetrics",
      dependencies: [
        "Weir", "WeirContracts", "WeirDelivery", "WeirReconcile",
        .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirConfiguration",
      dependencies: [
        "Weir", "WeirJSON", "WeirDelivery",
        .product(name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Configuration"])),
      ],
      swiftSettings: swiftSettings
    ),
    // Requests of a web server as events.
    .target(
      name: "WeirHummingbird",
      dependencies: [
        "Weir",
        .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Hummingbird"])),
        .product(
          name: "Instrumentation", package: "swift-distributed-tracing", condition: .when(traits: ["Hummingbird"])),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Hummingbird"])),
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirCollector",
      dependencies: [
        "Weir", "WeirContracts", "WeirJSON", .target(name: "CZlib", condition: .when(traits: ["Collector"])),
        .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Collector"])),
        .product(name: "HummingbirdCore", package: "hummingbird", condition: .when(traits: ["Collector"])),
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Collector"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Collector"])),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["Collector"])),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Collector"])),
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirMonitor",
      dependencies: [
        "Weir", "WeirContracts", "WeirDelivery", "WeirJSON",
        .target(name: "CNcurses", condition: .when(traits: ["Monitor"])),
        .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Monitor"])),
        .product(name: "HummingbirdCore", package: "hummingbird", condition: .when(traits: ["Monitor"])),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Monitor"])),
        .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Monitor"])),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Monitor"])),
      ],
      resources: [.embedInCode("monitor.html")],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "WeirTesting", dependencies: ["Weir", "WeirContracts", "WeirDelivery", "CWeir"],
      swiftSettings: swiftSettings),
    .target(
      name: "WeirTool",
      dependencies: [
        "Weir", "WeirJSON", "WeirContracts", "WeirDelivery", "WeirYAML", "WeirHTTP", "WeirCollector", "WeirMonitor",
        "WeirReconcile", "WeirFleet", "WeirNATS", "WeirKafka",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Tool"])),
        .product(name: "Logging", package: "swift-log"),
      ],
      resources: [.copy("Sample")],
      swiftSettings: swiftSettings
    ),
    // Apart from the tool itself, whose tests need a library: beside a macro, SwiftPM builds the tests of an executable
    // before the executable.
    .executableTarget(name: "WeirToolMain", dependencies: ["WeirTool"], swiftSettings: swiftSettings),
    // What the tests of several modules share.
    .target(
      name: "TestSupport", dependencies: ["Weir", .product(name: "Logging", package: "swift-log")],
      path: "Tests/TestSupport", swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirTests",
      dependencies: [
        "Weir", "WeirScopes", "WeirTesting", "TestSupport", "CWeir", .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(name: "WeirJSONTests", dependencies: ["WeirJSON", "TestSupport"], swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirContractsTests",
      dependencies: [
        "WeirContracts", "Weir", "WeirJSON", "WeirTesting", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "WeirDeliveryTests",
      dependencies: [
        "WeirDelivery", "WeirContracts", "Weir", "WeirJSON", "WeirTesting", "TestSupport", "CWeir",
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "WeirReconcileTests",
      dependencies: ["WeirReconcile", "Weir", "WeirDelivery", "WeirTesting", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirFleetTests", dependencies: ["WeirFleet", "Weir", "WeirTesting", "TestSupport"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirKafkaTests",
      dependencies: [
        "Weir", "WeirDelivery", "WeirFleet", "WeirKafka", "WeirTesting", "TestSupport",
        .target(name: "CKafka", condition: .when(traits: ["Kafka"])),
      ],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirNATSTests",
      dependencies: [
        "WeirNATS", "WeirFleet", "WeirDelivery", "Weir", "WeirTesting", "TestSupport",
        .target(name: "CNATS", condition: .when(traits: ["NATS"])),
      ],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirLoggingTests",
      dependencies: [
        "WeirLogging", "Weir", "TestSupport", .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirScopesTests",
      dependencies: ["WeirScopes", "Weir", "WeirTesting", "TestSupport", "CWeir"], swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirAspectsTests",
      dependencies: ["WeirAspects", "WeirScopes", "Weir", "WeirTesting", "TestSupport", "CWeir"],
      swiftSettings: swiftSettings),
    // With the plugin's own sources, by a link: were the plugin itself among its dependencies, SwiftPM would build all
    // tests, and all that they need, for the host, and everything but them a second time.
    .testTarget(
      name: "WeirMacrosTests",
      dependencies: [
        "Weir", "WeirAspects", "WeirScopes", "WeirTesting",
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax", condition: .when(traits: ["Macros"])),
        .product(
          name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax", condition: .when(traits: ["Macros"])),
      ],
      exclude: ["Plugin/Plugin.swift"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "WeirHTTPTests",
      dependencies: [
        "Weir", "WeirContracts", "WeirDelivery", "WeirHTTP", "WeirCollector", "WeirTesting",
        .target(name: "CZlib", condition: .when(traits: ["HTTP"])),
        .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["HTTP"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["HTTP"])),
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["HTTP"])),
      ],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirCollectorTests",
      dependencies: [
        "Weir", "WeirContracts", "WeirDelivery", "WeirCollector", "WeirTesting", "WeirToolMain",
        .target(name: "CZlib", condition: .when(traits: ["Collector"])),
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "WeirMonitorTests",
      dependencies: ["Weir", "WeirContracts", "WeirDelivery", "WeirMonitor", "WeirTesting", "TestSupport"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "WeirServiceTests",
      dependencies: [
        "Weir", "WeirJSON", "WeirContracts", "WeirDelivery", "WeirLifecycle", "WeirMetrics", "WeirConfiguration",
        "WeirReconcile", "WeirTesting", "TestSupport",
        .product(name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Configuration"])),
        .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
        .product(
          name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle", condition: .when(traits: ["Lifecycle"])),
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "WeirHummingbirdTests",
      dependencies: [
        "Weir", "WeirHummingbird", "WeirTesting", "TestSupport",
        .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Hummingbird"])),
        .product(
          name: "Instrumentation", package: "swift-distributed-tracing", condition: .when(traits: ["Hummingbird"])),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Hummingbird"])),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Hummingbird"])),
      ],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirTestingTests", dependencies: ["Weir", "WeirContracts", "WeirDelivery", "WeirTesting"],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "WeirToolTests",
      dependencies: [
        "WeirTool", "Weir", "WeirJSON", "WeirContracts", "WeirDelivery", "WeirTesting", "WeirYAML", "WeirFleet",
        "WeirMonitor",
      ],
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ExampleTests",
      dependencies: [
        "Weir", "WeirContracts", "WeirDelivery", "WeirScopes", "WeirAspects", "WeirHTTP", "WeirConfiguration",
        "WeirMonitor", "WeirReconcile", "WeirTesting",
        .product(name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Configuration"])),
      ], swiftSettings: swiftSettings),
    .testTarget(
      name: "EndToEndTests",
      dependencies: ["WeirToolMain", "Weir", "WeirContracts", "WeirDelivery", "WeirHTTP"],
      swiftSettings: swiftSettings
    ),
  ]
)

// What fleets take: a million hosts by a virtual clock, and a thousand real ones beside a cluster. They use what only
// this package sees, and are nobody's products: only with `make fleet-simulation` and `make fleet-bench`, which set
// this.
if Context.environment["WEIR_SIMULATION"] != nil {
  package.targets += [
    .executableTarget(
      name: "FleetSimulation", dependencies: ["Weir", "WeirFleet"], path: "Benchmarks/FleetSimulation",
      swiftSettings: swiftSettings),
    .executableTarget(
      name: "FleetBench",
      dependencies: [
        "Weir", "WeirDelivery", "WeirFleet", "WeirNATS", .target(name: "CNATS", condition: .when(traits: ["NATS"])),
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Tool"])),
      ],
      path: "Benchmarks/FleetBench", swiftSettings: swiftSettings),
  ]
}

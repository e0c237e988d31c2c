// swift-tools-version: 6.2
// A package whose events are made of a contract at every build.
import PackageDescription

let package = Package(
  name: "consumer",
  dependencies: [.package(name: "weir", path: "../library")],
  targets: [
    .executableTarget(
      name: "Consumer", dependencies: [.product(name: "Weir", package: "weir")],
      plugins: [.plugin(name: "WeirContractPlugin", package: "weir")])
  ]
)

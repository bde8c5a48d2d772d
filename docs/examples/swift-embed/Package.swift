// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

let package = Package(
    name: "embed",
    dependencies: [.package(name: "smallweb", path: "../../..")],
    targets: [
        .executableTarget(
            name: "records",
            dependencies: [
                .product(name: "SmallWeb", package: "smallweb"),
                .product(name: "SmallWebRecords", package: "smallweb"),
            ]),
        .executableTarget(
            name: "crawl",
            dependencies: [.product(name: "SmallWeb", package: "smallweb")]),
        // What stands for swift-log and swift-metrics here.
        .target(name: "Logging"), .target(name: "Metrics"),
        .executableTarget(
            name: "watched",
            dependencies: ["Logging", "Metrics", .product(name: "SmallWeb", package: "smallweb")]),
        .executableTarget(
            name: "trust",
            dependencies: [.product(name: "SmallWeb", package: "smallweb")]),
    ])

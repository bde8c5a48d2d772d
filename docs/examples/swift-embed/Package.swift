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
        .executableTarget(
            name: "trust",
            dependencies: [.product(name: "SmallWeb", package: "smallweb")]),
    ])

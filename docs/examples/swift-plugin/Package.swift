// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

let package = Package(
    name: "daytime",
    dependencies: [.package(name: "smallweb", path: "../../..")],
    targets: [
        .target(
            name: "DaytimePlugin",
            dependencies: [.product(name: "SmallWeb", package: "smallweb")]),
        .executableTarget(name: "daytime", dependencies: ["DaytimePlugin"]),
        .testTarget(
            name: "DaytimeTests",
            dependencies: [
                "DaytimePlugin", .product(name: "SmallWebTesting", package: "smallweb"),
            ],
            exclude: ["Fixtures"]),
    ])

// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

let package = Package(
    name: "daytime",
    dependencies: [.package(name: "smallweb", path: "../../..")],
    targets: [
        .executableTarget(
            name: "daytime", dependencies: [.product(name: "SmallWeb", package: "smallweb")])
    ])

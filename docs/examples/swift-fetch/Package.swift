// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

let package = Package(
    name: "fetch",
    dependencies: [.package(name: "smallweb", path: "../../..")],
    targets: [
        .executableTarget(
            name: "fetch", dependencies: [.product(name: "SmallWeb", package: "smallweb")])
    ])

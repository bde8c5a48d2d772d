// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

let package = Package(
    name: "page",
    dependencies: [.package(name: "smallweb", path: "../../..")],
    targets: [
        .executableTarget(
            name: "page", dependencies: [.product(name: "SmallWebFormats", package: "smallweb")])
    ])

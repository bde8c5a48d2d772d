// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

let web: Target.Dependency = .product(name: "SmallWeb", package: "smallweb")

let package = Package(
    name: "stream",
    dependencies: [.package(name: "smallweb", path: "../../..")],
    targets: [
        .executableTarget(name: "capsule", dependencies: [web]),
        .executableTarget(name: "ls-remote", dependencies: [web]),
        .executableTarget(name: "lines", dependencies: [web]),
    ],
    swiftLanguageModes: [.v6])

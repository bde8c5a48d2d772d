// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// A protocol: one folder below `Plugins/`, one target, one line in `SmallWebPlugins`. These are
/// ordinary modules, not SwiftPM build plugins.
func plugin(_ name: String) -> Target {
    .target(
        name: "\(name)Plugin",
        dependencies: ["SmallWebCore", "SmallWebFormats", "SmallWebLibraries"],
        path: "Plugins/\(name)", swiftSettings: strict)
}

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["SmallWebTestSupport"],
        exclude: name == "PluginTests" ? ["Fixtures"] : [],
        swiftSettings: strict)
}

let plugins = ["External", "Finger", "Gemini", "Git", "Gopher", "HTTP", "Nex", "Spartan"]
let pluginTargets: [Target.Dependency] = plugins.map { .byName(name: "\($0)Plugin") }

let commandLineDependencies: [Target.Dependency] = [
    "ExternalPlugin", "SmallWeb", "SmallWebFormats", "SmallWebLibraries", "SmallWebPlugins",
    "SmallWebTransport", "CSmallWebPOSIX",
]

var targets: [Target] = [
    // C shims: macros, variadics and headers that Swift cannot see. No logic.
    .target(name: "CSmallWebPOSIX"),
    .target(name: "CSmallWebTLS"),
    .target(name: "CSmallWebCurl"),
    .target(name: "CSmallWebCrypto"),
    .target(name: "CSmallWebZlib"),
    // What happens between fork and exec of a plugin's program: C alone can be run there.
    .target(name: "CSmallWebProgram"),

    library("SmallWebCore", ["CSmallWebPOSIX"]),
    // System libraries that have nothing to do with the network, opened when first needed.
    library("SmallWebLibraries", ["SmallWebCore", "CSmallWebCrypto", "CSmallWebZlib"]),
    library(
        "SmallWebTransport",
        [
            "SmallWebCore", "SmallWebLibraries", "CSmallWebCurl", "CSmallWebPOSIX",
            "CSmallWebProgram", "CSmallWebTLS",
        ]),
    // Gemtext, JSON, columns: text that is read or laid out, without a network.
    library("SmallWebFormats", ["SmallWebCore"]),
    library("SmallWebPlugins", ["SmallWebCore", "SmallWebTransport"] + pluginTargets),
    // What a program imports: all of the above behind one door.
    library(
        "SmallWeb",
        [
            "SmallWebCore", "SmallWebFormats", "SmallWebPlugins", "SmallWebTransport",
            "CSmallWebPOSIX",
        ]),
    .executableTarget(
        name: "SmallWebCLI", dependencies: commandLineDependencies, swiftSettings: strict),

    // The other end of the wire, for tests, `make demo` and `make bench`.
    .target(
        name: "SmallWebTestSupport",
        dependencies: [
            "SmallWebCore", "SmallWebFormats", "SmallWebTransport", "CSmallWebTLS",
            "CSmallWebPOSIX",
        ],
        path: "Tests/SmallWebTestSupport", swiftSettings: strict,
        linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    .executableTarget(
        name: "smallweb-loopback",
        dependencies: ["SmallWebTestSupport", "SmallWebCore", "SmallWebTransport"],
        path: "Tests/Loopback", exclude: ["demo.sh"], swiftSettings: strict),

    tests("SmallWebCoreTests", ["SmallWebCore", "SmallWebFormats"]),
    tests("SmallWebFormatsTests", ["SmallWebFormats"]),
    tests("SmallWebTransportTests", ["SmallWebTransport"]),
    tests("SmallWebTests", ["SmallWeb", "SmallWebFormats", "SmallWebPlugins"]),
    tests("PluginTests", ["SmallWeb", "SmallWebFormats", "SmallWebLibraries"] + pluginTargets),
    tests("CommandLineTests", ["SmallWebCLI"]),
    tests("TidyTests", []),
]
targets += plugins.map(plugin)

var products: [Product] = [.library(name: "SmallWeb", targets: ["SmallWeb"])]

// `make fuzz` builds everything with the fuzzer's runtime, which brings a `main` of its own. An
// executable cannot be linked into another one, so the command line is a library there.
if Context.environment["SMALLWEB_FUZZ"] != nil {
    targets.removeAll { ["SmallWebCLI", "CommandLineTests"].contains($0.name) }
    targets.append(
        .target(
            name: "SmallWebCLI", dependencies: commandLineDependencies, exclude: ["main.swift"],
            swiftSettings: strict))
    targets.append(
        .executableTarget(
            name: "smallweb-fuzz",
            dependencies: [
                "SmallWebCore", "SmallWebFormats", "SmallWebLibraries", "SmallWeb",
                "SmallWebTransport", "SmallWebPlugins", "SmallWebCLI", "SmallWebTestSupport",
                "CSmallWebTLS",
            ] + pluginTargets,
            path: "Tests/Fuzz", exclude: ["run.py", "seeds.py", "corpus", "seeds"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]))
} else {
    products.append(.executable(name: "smallweb", targets: ["SmallWebCLI"]))
}

let package = Package(
    name: "smallweb",
    products: products,
    targets: targets,
    swiftLanguageModes: [.v6])

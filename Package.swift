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
        dependencies: ["SmallWebCore", "SmallWebFormats"],
        path: "Plugins/\(name)", swiftSettings: strict)
}

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["SmallWebTestSupport"],
        exclude: ["PluginTests", "SmallWebFormatsTests"].contains(name) ? ["Fixtures"] : [],
        swiftSettings: strict)
}

let plugins = ["External", "File", "Finger", "Gemini", "Git", "Gopher", "HTTP", "Nex", "Spartan"]
let pluginTargets: [Target.Dependency] = plugins.map { .byName(name: "\($0)Plugin") }

let commandLineDependencies: [Target.Dependency] = [
    "ExternalPlugin", "SmallWeb", "SmallWebArchive", "SmallWebFormats", "SmallWebPlugins",
    "SmallWebRecords", "SmallWebTesting", "SmallWebTransport", "CSmallWebPOSIX",
]

var targets: [Target] = [
    // C shims: macros, variadics and headers that Swift cannot see. No logic.
    .target(name: "CSmallWebPOSIX"),
    .target(name: "CSmallWebTLS", dependencies: ["CSmallWebCrypto", "CSmallWebPOSIX"]),
    .target(name: "CSmallWebCurl", dependencies: ["CSmallWebPOSIX"]),
    .target(name: "CSmallWebCrypto"),
    .target(name: "CSmallWebZlib"),
    // What happens between fork and exec of a plugin's program: C alone can be run there.
    .target(name: "CSmallWebProgram"),
    // Replaces what the release binary does not use of the static Swift runtime; empty elsewhere.
    .target(name: "CSmallWebRuntime"),

    // Values and text. It imports nothing, so that the formats can be used on any system.
    library("SmallWebText", []),
    // The contract of plugins, and what all of them need: bytes, files, digests, inflating.
    library("SmallWebCore", ["SmallWebText", "CSmallWebCrypto", "CSmallWebPOSIX", "CSmallWebZlib"]),
    library(
        "SmallWebTransport",
        [
            "SmallWebCore", "CSmallWebCurl", "CSmallWebPOSIX", "CSmallWebProgram", "CSmallWebTLS",
        ]),
    // Formats, without a network: gemtext, HTML, menus, listings, headings, markup.
    .target(
        name: "SmallWebFormats", dependencies: ["SmallWebText"],
        resources: [.embedInCode("HTML/References")], swiftSettings: strict),
    library("SmallWebPlugins", ["SmallWebCore", "SmallWebTransport"] + pluginTargets),
    // What a program imports: all of the above behind one door.
    library(
        "SmallWeb",
        [
            "SmallWebCore", "SmallWebFormats", "SmallWebPlugins", "SmallWebText",
            "SmallWebTransport", "CSmallWebPOSIX",
        ]),
    // Results as JSON lines, lists of requests, the ledger.
    library("SmallWebRecords", ["SmallWeb", "SmallWebCore"]),
    // Recorded conversations, replayed: for `plugin test`, our own tests and those of others.
    library("SmallWebTesting", ["SmallWeb", "SmallWebCore", "SmallWebTransport"]),
    // Archives of what went over the wire: WARC, recording and replay.
    library(
        "SmallWebArchive",
        [
            "SmallWeb", "SmallWebCore", "SmallWebTesting", "SmallWebText", "SmallWebTransport",
            "CSmallWebPOSIX",
        ]),
    .target(
        name: "SmallWebCLI", dependencies: commandLineDependencies,
        resources: [
            .embedInCode("Completion/Scripts"), .embedInCode("Kit/Templates"),
            .embedInCode("Terminal/Advice/words.txt"),
            .embedInCode("Texts"),
        ],
        swiftSettings: strict),
    .executableTarget(
        name: "SmallWebMain", dependencies: ["SmallWebCLI", "CSmallWebRuntime"],
        swiftSettings: strict),
    // Makes man/, completions/ and the entry of the desktop; is not installed.
    .executableTarget(
        name: "smallweb-manual", dependencies: ["SmallWeb", "SmallWebCLI", "SmallWebPlugins"],
        exclude: ["Pages"], swiftSettings: strict),

    // The other end of the wire, for tests, `make demo` and `make bench`.
    .target(
        name: "SmallWebTestSupport",
        dependencies: [
            "SmallWebCore", "SmallWebTesting", "SmallWebTransport",
            "CSmallWebTLS", "CSmallWebPOSIX",
        ],
        path: "Tests/SmallWebTestSupport", swiftSettings: strict,
        linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    .executableTarget(
        name: "smallweb-loopback",
        dependencies: ["SmallWebTestSupport", "SmallWebCore", "SmallWebTransport"],
        path: "Tests/Loopback", exclude: ["demo.sh"], swiftSettings: strict),

    tests("SmallWebCoreTests", ["SmallWebCore", "SmallWebTesting"]),
    tests("SmallWebFormatsTests", ["SmallWebCore", "SmallWebFormats"]),
    tests("SmallWebTransportTests", ["SmallWebTransport"]),
    tests(
        "SmallWebTests",
        ["SmallWeb", "SmallWebFormats", "SmallWebPlugins", "SmallWebRecords", "SmallWebTesting"]),
    tests("SmallWebTestingTests", ["SmallWeb", "SmallWebPlugins", "SmallWebTesting"]),
    tests(
        "SmallWebArchiveTests",
        ["SmallWeb", "SmallWebArchive", "SmallWebPlugins", "SmallWebTesting"]),
    tests("SmallWebRecordsTests", ["SmallWebRecords", "SmallWebFormats", "SmallWebTesting"]),
    tests(
        "PluginTests",
        [
            "SmallWeb", "SmallWebFormats", "SmallWebTesting",
        ] + pluginTargets),
    tests(
        "CommandLineTests",
        [
            "SmallWeb", "SmallWebCLI", "SmallWebRecords", "SmallWebFormats",
            "smallweb-manual",
        ]),
    tests("TidyTests", []),
]
targets += plugins.map(plugin)

// `make fuzz` alone builds the fuzzers, with unsafe flags and a `main` of the fuzzer's runtime.
if Context.environment["SMALLWEB_FUZZ"] != nil {
    targets.append(
        .executableTarget(
            name: "smallweb-fuzz",
            dependencies: [
                "SmallWebArchive", "SmallWebCore", "SmallWebFormats", "SmallWeb",
                "SmallWebRecords", "SmallWebTesting", "SmallWebTransport", "SmallWebPlugins",
                "SmallWebCLI", "SmallWebTestSupport", "CSmallWebTLS",
            ] + pluginTargets,
            path: "Tests/Fuzz", exclude: ["run.py", "seeds.py", "corpus", "seeds"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]))
}

let package = Package(
    name: "smallweb",
    products: [
        .library(name: "SmallWeb", targets: ["SmallWeb"]),
        .library(name: "SmallWebFormats", targets: ["SmallWebFormats"]),
        .library(name: "SmallWebRecords", targets: ["SmallWebRecords"]),
        .library(name: "SmallWebTesting", targets: ["SmallWebTesting"]),
        .executable(name: "smallweb", targets: ["SmallWebMain"]),
    ],
    targets: targets,
    swiftLanguageModes: [.v6])

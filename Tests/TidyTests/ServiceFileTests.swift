// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The files by which other services build, test and document the package name only things that
/// exist.
@Suite struct ServiceFileTests {
    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(TidyTests.root)/\(name)", encoding: .utf8)
    }

    private func matches(of pattern: String, in name: String) throws -> [String] {
        try text(name).matches(of: Regex(pattern)).map { String($0.output[1].substring ?? "") }
    }

    /// The Swift Package Index reads at most 1,000 bytes.
    @Test func theSwiftPackageIndexDocumentsTheLibraries() throws {
        #expect(try text(".spi.yml").utf8.count <= 1_000)
        let targets = try matches(of: #"documentation_targets: \[(.*)\]"#, in: ".spi.yml")
        let products = try matches(of: #"\.library\(name: "(\w+)""#, in: "Package.swift")
        #expect(products.count > 3)
        let exported = try ["SmallWeb/Client", "SmallWebCore"].flatMap {
            try matches(
                of: #"@_exported public import (\w+)"#, in: "Sources/\($0)/Exports.swift")
        }
        let documented = targets.flatMap { $0.split(separator: ", ").map(String.init) }
        #expect(Set(documented) == Set(products + exported) && documented.first == products.first)
        for target in documented {
            // The index takes what a target's own catalog has, and make docc checks it so.
            #expect(
                try text("Sources/\(target)/\(target).docc/\(target).md").hasPrefix(
                    "# ``\(target)``\n"))
        }
    }

    @Test func theWorkflowRunsTargetsOfTheMakefile() throws {
        let targets = try matches(of: #"run: make (\S+)"#, in: ".github/workflows/ci.yml")
        #expect(targets == ["test", "test-all"])
        for target in targets {
            #expect(try text("Makefile").contains("\n\(target):"), "make \(target)")
        }
    }

    /// The workflow and the development container have the toolchain that `.ci/deps` asks for.
    @Test func theContainersHaveTheToolchainThatIsNeeded() throws {
        let version = try #require(try matches(of: #"Swift ([\d.]+) or"#, in: ".ci/deps").first)
        let workflow = try matches(of: #"swift: \['([\d.]+)'"#, in: ".github/workflows/ci.yml")
        #expect(workflow == [version])
        let newer = try matches(of: #"\bswift:([\d.]+)"#, in: ".github/workflows/ci.yml")
        #expect(newer == [try text(".swift-version").trimmingCharacters(in: .newlines)])
        let container = try JSONSerialization.jsonObject(
            with: Data(text(".devcontainer/devcontainer.json").utf8))
        let members = try #require(container as? [String: Any])
        #expect(members["image"] as? String == "swift:\(newer[0])")
    }

    /// A product for formats alone builds on any system: it imports neither a C library nor C of
    /// ours. `Tests/Examples/run.sh` builds it where there are no headers at all.
    @Test func formatsImportNothing() throws {
        #expect(try modules(of: "SmallWebFormats") == ["SmallWebFormats", "SmallWebText"])
        for module in ["SmallWebFormats", "SmallWebText"] {
            for text in try files(of: module) {
                let names = try matches(of: #"(?m)^[\w@ ]*import (?:\w+ )?(\w+)"#, in: text)
                #expect(names.allSatisfy { $0 == "SmallWebText" }, "\(module): \(names)")
            }
        }
        #expect(try libraries(of: "SmallWebFormats") == [])
        #expect(try libraries(of: "SmallWeb") == ["curl", "openssl"])
    }

    /// The modules of ours that one imports, and so on.
    private func modules(of name: String) throws -> Set<String> {
        var (found, next) = ([name] as Set, [name])
        while let module = next.popLast() {
            let imports = try files(of: module).flatMap {
                try matches(of: #"(?m)import (C?SmallWeb\w*)$"#, in: $0)
            }
            next += imports.filter { found.insert($0).inserted }
        }
        return found
    }

    /// The libraries whose headers are included.
    private func libraries(of name: String) throws -> Set<String> {
        let shims = try modules(of: name).filter { $0.hasPrefix("C") }
        return Set(
            try shims.flatMap(files).flatMap {
                try matches(of: #"#include <(openssl|curl|zlib)\b"#, in: $0)
            })
    }

    private func files(of module: String) throws -> [String] {
        let folder = "Sources/\(module)"
        return try FileManager.default.subpathsOfDirectory(atPath: "\(TidyTests.root)/\(folder)")
            .filter { path in [".swift", ".c", ".h"].contains { path.hasSuffix($0) } }
            .map { "\(folder)/\($0)" }
    }
}

// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import SmallWebTransport

/// All that is executed is judged, and every directory on the way.
@Suite(.timeLimit(.minutes(30)))
struct ProvenanceTests {
    /// Its user's home directory is empty: a program cannot run anything below it.
    private var smallweb = {
        var smallweb = Smallweb()
        smallweb.environment["HOME"] = smallweb.home.file("user")
        return smallweb
    }()

    private func get(_ folder: String) throws -> Smallweb.Result {
        try smallweb.run(["get", "--plugin", folder, "trial://h/"])
    }

    /// Others may write `path`, and then no more.
    private func refuses(_ folder: String, _ path: String, mode: Int = 0o777) throws {
        let before = try #require(
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        try smallweb.set(mode, of: path)
        let result = try get(folder)
        try smallweb.set(before, of: path)
        #expect(result.status == 110 && result.text.isEmpty, "\(path): \(result.errors)")
        #expect(result.errors.contains("others can write \(path)"), "\(result.errors)")
        let after = try get(folder)
        #expect(after.status == 0 && after.text == "ran\n", "\(path): \(after.errors)")
    }

    private func directory(_ name: String) throws -> String {
        let path = smallweb.home.file(name)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755])
        return path
    }

    @Test func everyFileOfTheFolderAndEveryDirectoryAboveIt() throws {
        let folder = try smallweb.plugin("#!/bin/sh\necho ran >&4")
        let sub = try directory("trial/lib/more")
        try smallweb.write("x", to: sub + "/module", mode: 0o644)
        for path in [smallweb.home.path, folder, folder + "/lib", sub] {
            try refuses(folder, path)
            try refuses(folder, path, mode: 0o775)
        }
        for path in ["/plugin.json", "/run", "/lib/more/module"] {
            try refuses(folder, folder + path, mode: 0o757)
        }
        // In such a directory others can put files, though they cannot replace these.
        try refuses(folder, folder, mode: 0o1777)
        try refuses(folder, sub, mode: 0o1777)
        // On the way it does no harm.
        try smallweb.set(0o1777, of: smallweb.home.path)
        #expect(try get(folder).status == 0)
    }

    @Test func wordsWithoutDotAndSlash() throws {
        let bin = try directory("elsewhere/bin")
        try smallweb.write("#!/bin/sh\necho ran >&4\n", to: bin + "/program", mode: 0o755)
        let folder = try smallweb.plugin("", words: #"["\#(bin)/program"]"#)
        for path in [bin + "/program", bin, smallweb.home.file("elsewhere")] {
            try refuses(folder, path)
        }
        try smallweb.write("echo ran >&4\n", to: bin + "/script", mode: 0o644)
        let argument = try smallweb.plugin("", words: #"["/bin/sh", "\#(bin)/script"]"#)
        try refuses(argument, bin + "/script")
    }

    @Test func whatIsFoundThroughPATHAndThePlacesBefore() throws {
        let (before, bin, behind) = (
            try directory("before"), try directory("bin"), try directory("behind")
        )
        try smallweb.write("#!/bin/sh\necho ran >&4\n", to: bin + "/program", mode: 0o755)
        var test = self
        test.smallweb.environment["PATH"] = [before, bin, behind, "/usr/bin", "/bin"]
            .joined(separator: ":")
        let folder = try smallweb.plugin("", words: #"["program"]"#)
        for path in [before, bin, bin + "/program"] { try test.refuses(folder, path) }
        try smallweb.set(0o777, of: behind)
        #expect(try test.get(folder).status == 0)
        // `env` looks where the runner does.
        try FileManager.default.copyItem(atPath: "/usr/bin/env", toPath: bin + "/env")
        try smallweb.set(0o755, of: bin + "/env")
        let script = try smallweb.plugin("#!\(bin)/env program")
        for path in [before, bin, bin + "/program"] { try test.refuses(script, path) }
        let split = try smallweb.plugin("#!\(bin)/env -S A=1 program -x")
        try test.refuses(split, bin + "/program")
        let unclear = try test.get(try smallweb.plugin("#!\(bin)/env -i sh"))
        #expect(unclear.status == 110 && unclear.errors.contains("cannot be judged"))
    }

    @Test func interpretersOfFirstLines() throws {
        let bin = try directory("bin")
        try smallweb.write("#!/bin/sh\necho ran >&4\n", to: bin + "/one", mode: 0o755)
        try smallweb.write("#! \(bin)/one -x\n", to: bin + "/two", mode: 0o755)
        let folder = try smallweb.plugin("#!\(bin)/two")
        for path in [bin + "/one", bin + "/two", bin] { try refuses(folder, path) }
    }

    @Test func everyLinkOnTheWay() throws {
        let (far, middle) = (try directory("far"), try directory("middle"))
        try smallweb.write("#!/bin/sh\necho ran >&4\n", to: far + "/program", mode: 0o755)
        let folder = try smallweb.plugin("")
        try FileManager.default.removeItem(atPath: folder + "/run")
        for (link, target) in [
            (middle + "/link", "../far/program"), (folder + "/run", middle + "/link"),
        ] {
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: target)
        }
        for path in [far, far + "/program", middle] { try refuses(folder, path) }
        // The folder itself, by a link.
        let parent = try directory("parent")
        try FileManager.default.createSymbolicLink(
            atPath: parent + "/link", withDestinationPath: folder)
        try refuses(parent + "/link", parent)
        // A link in the folder to a directory: a program may load files from it.
        let modules = try directory("modules")
        try smallweb.write("x", to: modules + "/module", mode: 0o644)
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/modules", withDestinationPath: modules)
        for path in [modules, modules + "/module"] { try refuses(folder, path) }
    }

    @Test func aFolderThatIsTooLargeAndAProgramThatCannotRunAreSaid() throws {
        let folder = try smallweb.plugin("#!/bin/sh\necho ran >&4")
        try smallweb.set(0o644, of: folder + "/run")
        let result = try get(folder)
        #expect(result.status == 110 && result.errors.contains("cannot be run"))
        #expect(try hint() == "chmod +x '\(folder)/run'")
        try smallweb.set(0o755, of: folder + "/run")
        _ = try smallweb.run(
            [], shell: "mkdir trial/many && cd trial/many && seq 10001 | xargs touch")
        let large = try get(folder)
        #expect(large.status == 110 && large.errors.contains("more than 10000 files"))
    }

    /// The command that helps.
    private func hint() throws -> String? {
        var smallweb = smallweb
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = smallweb.home.path
        let result = try smallweb.run(["get", "--json", "trial://h/"])
        return try Records(result.output).terminal.first?["error"]?["hint"]?.string
    }

    /// It is told where plugins are looked at, and not only when one is asked for.
    @Test func theListSaysIt() throws {
        var smallweb = smallweb
        let folder = try smallweb.plugin("#!/bin/sh\necho ran >&4")
        try smallweb.write("x", to: folder + "/module", mode: 0o666)
        smallweb.environment["SMALLWEB_PLUGIN_PATH"] = smallweb.home.path
        #expect(try hint() == "chmod go-w '\(folder)/module'")
        for words in [["plugin", "list"], ["plugin", "show", "trial"], ["trial://h/"]] {
            let result = try smallweb.run(words)
            #expect((result.text + result.errors).contains("others can write \(folder)/module"))
        }
    }
}

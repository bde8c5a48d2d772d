// SPDX-License-Identifier: MIT
import Foundation
@testable internal import SmallWebCLI
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Archives as they are, and as they should not be.
@Suite struct PluginArchiveTests {
    private let home = Smallweb().home

    /// A header with its bytes, as POSIX has them.
    private static func file(
        _ name: String, _ text: String = "", kind: Character = "0", mode: String = "0000644",
        size: String? = nil, magic: String = "ustar\0" + "00", prefix: String = ""
    ) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: 512)
        func put(_ text: String, at offset: Int) {
            block.replaceSubrange(offset..<(offset + text.utf8.count), with: text.utf8)
        }
        let octal = String(text.utf8.count, radix: 8)
        put(name, at: 0)
        put(mode, at: 100)
        put(size ?? String(repeating: "0", count: 11 - octal.count) + octal, at: 124)
        put(String(kind), at: 156)
        put(magic, at: 257)
        put(prefix, at: 345)
        put("        ", at: 148)
        let sum = String(block.reduce(0) { $0 + Int($1) }, radix: 8)
        put(String(repeating: "0", count: 6 - sum.count) + sum + "\0 ", at: 148)
        let room = (512 - text.utf8.count % 512) % 512
        return block + text.utf8 + [UInt8](repeating: 0, count: room)
    }

    private static let end = [UInt8](repeating: 0, count: 1024)

    private static let manifest = file("plugin.json", "{}")

    /// Files as `NAME=TEXT`, programs as `NAME*=TEXT`, directories as `NAME/`; not the manifest.
    private func read(_ bytes: [UInt8]) throws -> [String] {
        let path = home.file("a.tar")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        var found: [String] = []
        try PluginArchive.unpacked(path) { folder throws(FetchError) in
            let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
            found = names.filter { $0 != "plugin.json" }.map { name in
                guard let text = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
                    return name + "/"
                }
                let isProgram = access("\(folder)/\(name)", X_OK) == 0
                return "\(name)\(isProgram ? "*" : "")=\(String(decoding: text, as: UTF8.self))"
            }
        }
        return found.sorted()
    }

    private static let long = String(repeating: "d/", count: 20) + String(repeating: "n", count: 99)

    /// `LENGTH KEY=VALUE`, with its own length.
    private static func pax(_ key: String, _ value: String) -> String {
        let rest = " \(key)=\(value)\n"
        let digits = (1...4).first { String(rest.utf8.count + $0).utf8.count == $0 } ?? 0
        return "\(rest.utf8.count + digits)\(rest)"
    }

    @Test func readsFilesAndDirectories() throws {
        let found = try read(
            Self.file("./", kind: "5") + Self.file("a/", kind: "5")
                + Self.file("a/run", "#!/bin/sh\n", mode: "0004755")
                + Self.file("a/b//./c", "text") + Self.file("a", kind: "5") + Self.manifest
                + Self.end)
        #expect(found == ["a/", "a/b/", "a/b/c=text", "a/run*=#!/bin/sh\n"])
    }

    @Test func readsNamesThatTarEscapes() throws {
        let names = ["ä \\ b\\101", " c", "d -> e", "block 1: f"]
        let found = try read(
            names.flatMap { Self.file($0) } + Self.manifest + Self.end)
        #expect(found == names.map { $0 + "=" }.sorted())
    }

    @Test func readsLongNamesOfAllKinds() throws {
        for archive in [
            Self.file("x", Self.pax("mtime", "1.5") + Self.pax("path", Self.long), kind: "x")
                + Self.file("short", "text"),
            Self.file("././@LongLink", Self.long + "\0", kind: "L", magic: "ustar  \0")
                + Self.file("short", "text", magic: "ustar  \0"),
            Self.file("g", Self.pax("comment", "a commit"), kind: "g")
                + Self.file(
                    String(Self.long.suffix(99)), "text", prefix: String(Self.long.dropLast(100))),
        ] {
            let found = try read(archive + Self.manifest + Self.end)
            #expect(found.last == Self.long + "=text")
            #expect(found.count == 21)
        }
        // The GNU format has a time at this offset, not a prefix.
        let old = Self.file("a", magic: "ustar  \0", prefix: "14500000000")
        #expect(try read(old + Self.manifest + Self.end) == ["a="])
    }

    /// Bad archives, and the message for each.
    private static let wrong: [(bytes: [UInt8], why: String)] = {
        var wrong: [([UInt8], String)] = []
        func add(_ bytes: [UInt8], _ why: String) { wrong.append((bytes, why)) }
        add(file("/etc/passwd"), "leads out of it")
        add(file("a/../../b"), "leads out of it")
        add(file(".."), "leads out of it")
        add(file("a", kind: "2"), "neither a file nor")
        add(file("a", kind: "1"), "neither a file nor")
        add(file("a", kind: "3"), "neither a file nor")
        add(file("a", kind: "6"), "neither a file nor")
        add(file("a", kind: "7"), "neither a file nor")
        add(file("a", kind: "Z"), "neither a file nor")
        add(file("a") + file("./a"), "it has a twice")
        add(file("a") + file("a/b"), "it has a twice")
        add(file("a/b") + file("a"), "it has a twice")
        add(file("a/", "text", kind: "5"), "Skipping to next header")
        add(file("a/", "x"), "directory")
        add(file("."), "directory with bytes")
        add(file("a\u{1B}[1m"), "not text")
        add(file("a\nb"), "not text")
        add(file(""), "not text")
        add(file("a", size: "77777777777"), "Unexpected EOF")
        add(file("a", size: "-0000000001"), "tar: Archive")
        add(file("a", size: "00000000009"), "numeric off_t value")
        add(file("a", mode: "rwxr-xr"), "numeric mode_t value")
        add(file("x", pax("GNU.sparse.major", "1"), kind: "x") + file("a"), "sparse archive member")
        add(file("x", pax("path", "../a"), kind: "x") + file("a"), "leads out of it")
        add(file("g", pax("path", "a"), kind: "g") + file("b") + file("c"), "it has a twice")
        add(file("x", "99 path=a\n", kind: "x") + file("a"), "xtended header")
        add(file("x", "999999999999999999999 path=a\n", kind: "x") + file("a"), "xtended header")
        add(file("x", "8 path a\n", kind: "x") + file("a"), "xtended header")
        add(file("L", String(repeating: "a", count: 1025), kind: "L") + file("a"), "too long")
        add(file("L", String(repeating: "a/", count: 40) + "a", kind: "L") + file("a"), "too deep")
        add(Array("text".utf8) + [UInt8](repeating: 32, count: 600), "Skipping to next header")
        return wrong
    }()

    @Test(arguments: wrong.indices)
    func refuses(_ index: Int) throws {
        let (bytes, why) = Self.wrong[index]
        do {
            Issue.record("\(try read(Self.manifest + bytes + Self.end))")
        } catch let error as FetchError {
            #expect(error.outcome == .plugin && error.message.contains(why), "\(error.message)")
        }
    }

    /// tar passes over an empty path from version 1.35 on.
    @Test func takesNoEmptyPath() throws {
        let bytes = Self.manifest + Self.file("x", Self.pax("path", ""), kind: "x") + Self.file("a")
        do {
            #expect(try read(bytes + Self.end) == ["a="])
        } catch let error as FetchError {
            #expect(error.message.contains("a name is empty"))
        }
    }

    private static let sample =
        manifest + file("hello/", kind: "5") + file("hello/text", "0000")
        + file("x", pax("path", long), kind: "x") + file("short", "text", mode: "0000755")

    @Test func refusesEveryBeginning() throws {
        let whole = Self.sample + [UInt8](repeating: 0, count: 512)
        #expect(try read(whole).count == 23)
        for count in stride(from: 0, to: whole.count, by: 128) {
            #expect(throws: FetchError.self, "\(count) bytes") {
                try read(Array(whole.prefix(count)))
            }
        }
    }
}

// SPDX-License-Identifier: MIT
@testable internal import SmallWebCLI
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Archives as they are, and as they should not be.
@Suite struct TarArchiveTests {
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

    private static func read(_ parts: [UInt8]..., max: Int = 1000) throws(FetchError) -> TarArchive
    {
        try TarArchive(parts.flatMap { $0 } + end, entriesMax: max)
    }

    private static let long = String(repeating: "d/", count: 20) + String(repeating: "n", count: 99)

    /// `LENGTH KEY=VALUE`, with its own length.
    private static func pax(_ key: String, _ value: String) -> String {
        let rest = " \(key)=\(value)\n"
        let digits = (1...4).first { String(rest.utf8.count + $0).utf8.count == $0 } ?? 0
        return "\(rest.utf8.count + digits)\(rest)"
    }

    @Test func readsFilesAndDirectories() throws {
        let archive = try Self.read(
            Self.file("./", kind: "5"), Self.file("a/", kind: "5"),
            Self.file("a/run", "#!/bin/sh\n", mode: "0004755"), Self.file("a/b//./c", "text"),
            Self.file("a", kind: "5"))
        #expect(archive.entries.map(\.path) == ["a", "a/run", "a/b", "a/b/c"])
        #expect(archive.entries.map { $0.bytes == nil } == [true, false, true, false])
        #expect(archive.entries.map(\.isProgram) == [false, true, false, false])
        #expect(archive.entries[1].bytes?.elementsEqual("#!/bin/sh\n".utf8) == true)
    }

    @Test func readsLongNamesOfAllKinds() throws {
        for archive in [
            try Self.read(
                Self.file("x", Self.pax("mtime", "1.5") + Self.pax("path", Self.long), kind: "x"),
                Self.file("short", "text")),
            try Self.read(
                Self.file("././@LongLink", Self.long + "\0", kind: "L", magic: "ustar  \0"),
                Self.file("short", "text", magic: "ustar  \0")),
            try Self.read(
                Self.file("g", Self.pax("comment", "a commit"), kind: "g"),
                Self.file(
                    String(Self.long.suffix(99)), "text", prefix: String(Self.long.dropLast(100)))),
        ] {
            #expect(archive.entries.last?.path == Self.long)
            #expect(archive.entries.last?.bytes?.elementsEqual("text".utf8) == true)
            #expect(archive.entries.count == 21)
        }
        // What stands there in an archive of GNU is a time.
        let old = try Self.read(Self.file("a", magic: "ustar  \0", prefix: "14500000000"))
        #expect(old.entries.map(\.path) == ["a"])
    }

    /// What is wrong, and what is said of it.
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
        add(file("a", kind: "S"), "neither a file nor")
        add(file("a") + file("./a"), "a is there twice")
        add(file("a") + file("a/b"), "a is there twice")
        add(file("a/b") + file("a"), "a is there twice")
        add(file("a/", "text", kind: "5"), "directory with bytes")
        add(file("a/", "x"), "directory")
        add(file("."), "directory with bytes")
        add(file("a\u{1B}[1m"), "no text")
        add(file("a\nb"), "no text")
        add(file(""), "no text")
        add(file("a", size: "77777777777"), "cut off")
        add(file("a", size: "-0000000001"), "a number")
        add(file("a", size: "00000000009"), "a number")
        add(file("a", mode: "rwxr-xr"), "a number")
        add(file("x", pax("size", "1"), kind: "x") + file("a", "text"), "too large, or sparse")
        add(file("x", pax("GNU.sparse.major", "1"), kind: "x") + file("a"), "too large, or sparse")
        add(file("x", pax("path", "../a"), kind: "x") + file("a"), "leads out of it")
        add(file("x", pax("path", ""), kind: "x") + file("a"), "a name is empty")
        add(file("g", pax("path", "a"), kind: "g") + file("a"), "for all files")
        add(file("x", "99 path=a\n", kind: "x"), "a pax header is damaged")
        add(file("x", "999999999999999999999 path=a\n", kind: "x"), "a pax header is damaged")
        add(file("x", "9 path=a\n0 a=b\n", kind: "x"), "a pax header is damaged")
        add(file("x", "8 path a\n", kind: "x"), "a pax header is damaged")
        add(file("L", String(repeating: "a", count: 1025), kind: "L") + file("a"), "too long")
        add(file("L", String(repeating: "a/", count: 40) + "a", kind: "L") + file("a"), "too deep")
        add(Array("text".utf8) + [UInt8](repeating: 32, count: 600), "not a tar archive")
        return wrong
    }()

    @Test(arguments: wrong.indices)
    func refuses(_ index: Int) {
        let (bytes, why) = Self.wrong[index]
        do throws(FetchError) {
            let archive = try Self.read(bytes)
            Issue.record("\(archive.entries.map(\.path))")
        } catch {
            #expect(error.outcome == .plugin && error.message.contains(why), "\(error.message)")
        }
    }

    @Test func boundsTheNumberOfFiles() throws {
        let three = ["a/b", "c"].flatMap { Self.file($0) }
        #expect(try Self.read(three, max: 3).entries.count == 3)
        #expect(throws: FetchError.self) { try Self.read(three, max: 2) }
        let again = (0..<20).flatMap { _ in Self.file("a/", kind: "5") }
        #expect(throws: FetchError.self) { try Self.read(again, max: 3) }
    }

    private static let sample =
        file("hello/", kind: "5") + file("hello/plugin.json", "{}")
        + file("x", pax("path", long), kind: "x") + file("short", "text", mode: "0000755")

    @Test func refusesEveryBeginning() {
        let whole = Self.sample + [UInt8](repeating: 0, count: 512)
        #expect((try? TarArchive(whole, entriesMax: 1000)) != nil)
        for count in whole.indices {
            #expect(throws: FetchError.self, "\(count) bytes") {
                try TarArchive(Array(whole.prefix(count)), entriesMax: 1000)
            }
        }
    }

    /// A flipped bit is found by a sum, or changes bytes of a file alone.
    @Test func staysWithinItselfWhateverIsDamaged() {
        var generator = SeededGenerator(seed: 15)
        for offset in Self.sample.indices {
            var bytes = Self.sample + Self.end
            bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            guard let archive = try? TarArchive(bytes, entriesMax: 1000) else { continue }
            for entry in archive.entries {
                let parts = entry.path.split(separator: "/", omittingEmptySubsequences: false)
                #expect(!parts.contains { ["", ".", ".."].contains($0) }, "\(offset)")
            }
            #expect(Set(archive.entries.map(\.path)).count == archive.entries.count)
        }
    }
}

// SPDX-License-Identifier: MIT
internal import Foundation
@testable internal import GitPlugin
internal import SmallWebCore
internal import SmallWebTestSupport
internal import Testing

/// Packs that Git makes, compared object for object with Git's own listing.
@Suite struct PackFromGitTests {
    @Test(arguments: ObjectFormat.allCases, [[], ["--delta-base-offset"]] as [[String]])
    func everyObjectIsTheSame(_ format: ObjectFormat, _ options: [String]) throws {
        let git = try GitRepository(format)
        try git.run(["fast-import", "--quiet"], input: GitRepository.history)
        let pack = try git.run(
            ["pack-objects", "--all", "--stdout", "-q", "--no-reuse-delta", "--depth=400"]
                + ["--window=5", "--threads=1"] + options)
        let expected = try git.objects()
        #expect(expected.count > 900)

        for step in [1, 1_000, 65_536] {
            let read = PackReading(pack, format, step: step)
            #expect(read.error == nil)
            #expect(read.objects.count == expected.count)
            #expect(Set(read.objects) == expected)
        }
        let unkept = PackReading(pack, format, keeping: false)
        #expect(unkept.error?.outcome == .protocolError)

        try everyHeaderIsRead(expected, format)
    }

    /// From every commit and tag down to the files, without Git.
    private func everyHeaderIsRead(
        _ objects: Set<PackObject>, _ format: ObjectFormat
    ) throws {
        let byID = Dictionary(uniqueKeysWithValues: objects.map { ($0.id, $0) })
        var files = 0
        for object in objects {
            switch object.type {
            case .commit:
                #expect(try object.target().flatMap { byID[$0]?.type } == .tree)
            case .tag:
                let type = try object.target().flatMap { byID[$0]?.type.name }
                let line = "\ntype \(type ?? "")\n"
                #expect(String(decoding: object.content, as: UTF8.self).contains(line))
            case .tree:
                for entry in try object.tree.entries() {
                    let type: ObjectType = entry.kind == .directory ? .tree : .blob
                    #expect(byID[entry.id]?.type == type)
                    files += type == .blob ? 1 : 0
                }
            case .blob: break
            }
        }
        #expect(files > 1_000)
    }

    @Test func aBigFileIsStreamed() throws {
        let git = try GitRepository(.sha1)
        var random = SeededGenerator(seed: 9)
        let content = (0..<400_000).flatMap { _ in
            withUnsafeBytes(of: random.next() & 0xFFFF_FFFF_FFFF) { Array($0) }
        }
        let id = try git.run(["hash-object", "-w", "--stdin"], input: content)
        let pack = try git.run(["pack-objects", "--stdout", "-q"], input: id)
        let read = PackReading(
            pack, limits: PackLimits(totalBytesMax: content.count), keeping: false, step: 65_536)
        #expect(read.error == nil)
        #expect(read.objects.map(\.content) == [content])
        #expect(read.objects.first?.id == ObjectID(hex: id.dropLast()))
    }
}

/// A repository in a temporary directory, which is removed with it.
final class GitRepository: Sendable {
    private let folder: URL

    init(_ format: ObjectFormat) throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("smallweb-git-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try run(["init", "-q", "--bare", "-b", "main", "--object-format=\(format)"])
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// - Throws: If Git fails and `mustSucceed` is true.
    @discardableResult
    func run(
        _ arguments: [String], input: [UInt8] = [], protocolVersion: Int = 2,
        mustSucceed: Bool = true
    ) throws -> [UInt8] {
        let file = folder.appendingPathComponent("input-\(UUID().uuidString)")
        try Data(input).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["git"] + arguments
        process.currentDirectoryURL = folder
        process.environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "HOME": folder.path, "GIT_CONFIG_NOSYSTEM": "1", "GIT_DIR": folder.path,
            "GIT_PROTOCOL": "version=\(protocolVersion)",
        ]
        process.standardInput = try FileHandle(forReadingFrom: file)
        if !mustSucceed { process.standardError = FileHandle.nullDevice }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        if mustSucceed { try #require(process.terminationStatus == 0, "git \(arguments)") }
        return Array(bytes)
    }

    /// Everything in the repository, by `git cat-file`.
    func objects() throws -> Set<PackObject> {
        var rest = try run(["cat-file", "--batch", "--batch-all-objects"])[...]
        var objects: Set<PackObject> = []
        while let lineFeed = rest.firstIndex(of: ASCII.lineFeed) {
            let words = rest[..<lineFeed].split(separator: ASCII.space)
            let size = try #require(ASCII.decimal(words[2], max: .max / 10))
            let content = rest[(lineFeed + 1)...].prefix(size)
            objects.insert(
                PackObject(
                    id: try #require(ObjectID(hex: words[0])),
                    type: try #require(
                        ObjectType.allCases.first { words[1].elementsEqual($0.name.utf8) }),
                    content: Array(content)))
            rest = rest[(lineFeed + 1)...].dropFirst(size + 1)
        }
        return objects
    }

    /// For `git fast-import`: 300 versions of a file in a folder, each a little different from the
    /// one before, beside an empty file, a link and a file that cannot be compressed.
    static let history: [UInt8] = {
        var random = SeededGenerator(seed: 10)
        var lines = (0..<150).map { "line \($0): \(random.next())" }
        var stream: [UInt8] = []
        func data(_ bytes: [UInt8]) { stream += Array("data \(bytes.count)\n".utf8) + bytes + [10] }
        for version in 0..<300 {
            lines[Int.random(in: lines.indices, using: &random)] = "version \(version)"
            if version % 7 == 0 { lines.append("more \(random.next())") }
            stream += "commit refs/heads/main\nmark :\(version + 1)\n".utf8
            stream +=
                "committer A U Thor <author@example.com> \(1_700_000_000 + version) +0000\n".utf8
            data(Array("version \(version)\n".utf8))
            stream += "M 100644 inline folder/within/file.txt\n".utf8
            data(Array(lines.joined(separator: "\n").utf8))
            stream += "M 100755 inline folder/version\n".utf8
            data(Array(String(version).utf8))
            guard version == 0 else { continue }
            stream += "M 100644 inline empty\n".utf8
            data([])
            stream += "M 120000 inline link\n".utf8
            data(Array("folder/version".utf8))
            stream += "M 100644 inline noise\n".utf8
            data((0..<50_000).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
        stream += "tag v1\nfrom :300\ntagger A U Thor <author@example.com> 1700000000 +0000\n".utf8
        data(Array("a tag\n".utf8))
        return stream
    }()
}

// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWebCore
internal import SmallWebTransport

/// A plugin that comes as one file.
enum PluginArchive {
    /// Programs that compress archives, by how their files begin.
    private static let compressors: [(name: String, magic: [UInt8])] = [
        ("gzip", [0x1F, 0x8B]), ("bzip2", Array("BZh".utf8)), ("zstd", [0x28, 0xB5, 0x2F, 0xFD]),
        ("xz", [0xFD, 0x37, 0x7A, 0x58, 0x5A]), ("lzip", Array("LZIP".utf8)),
    ]

    static func isArchive(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }

    /// Unpacks a tar archive for as long as `body` runs.
    ///
    /// - Parameter body: Gets the folder in it that has a manifest.
    /// - Throws: `plugin` for what is no such archive; `read`, `write`; what `body` throws.
    static func unpacked(
        _ file: String, _ body: (_ folder: String) throws(FetchError) -> Void
    ) throws(FetchError) {
        let bytes = try InputSource.read(file == "-" ? "@./-" : "@" + file)
        if let compressor = compressors.first(where: { bytes.starts(with: $0.magic) }) {
            throw FetchError(
                .plugin, .plugin,
                "\(file) is compressed: unpack it with \(compressor.name) -dk '\(file)'")
        }
        let archive: TarArchive
        let temporary: TemporaryDirectory
        do throws(FetchError) {
            archive = try TarArchive(bytes, entriesMax: PluginTree.entriesMax)
        } catch {
            throw FetchError(.plugin, .plugin, "\(file): \(error.message)")
        }
        let root = try root(of: archive, file)
        do throws(SystemError) {
            temporary = try TemporaryDirectory()
        } catch {
            throw FetchError(.write, .output, "cannot unpack \(file): \(error.sentence)")
        }
        defer { temporary.remove() }
        let top = temporary.path + "/plugin"
        try PluginTree.makeDirectory(top)
        for entry in archive.entries {
            let path = "\(top)/\(entry.path)"
            if let bytes = entry.bytes {
                try PluginTree.write(Array(bytes), to: path, isProgram: entry.isProgram)
            } else {
                try PluginTree.makeDirectory(path)
            }
        }
        let folder = top + root
        do throws(FetchError) {
            try body(folder)
        } catch {
            // What is said of the folder is meant of the file, which its user knows.
            throw FetchError(
                error.outcome, error.phase,
                error.message.replacing(text: resolvingLinks(folder), with: file),
                errnoName: error.errnoName, hint: error.hint)
        }
    }

    /// Where the manifest is: at the top, or in the one directory there.
    private static func root(of archive: TarArchive, _ file: String) throws(FetchError) -> String {
        let files = Set(archive.entries.filter { $0.bytes != nil }.map(\.path))
        if files.contains("plugin.json") { return "" }
        let tops = Set(archive.entries.compactMap { $0.path.split(separator: "/").first })
        if let top = tops.first, tops.count == 1, files.contains("\(top)/plugin.json") {
            return "/\(top)"
        }
        throw FetchError(
            .plugin, .plugin, "\(file) has no plugin.json at its top or in its one directory")
    }
}

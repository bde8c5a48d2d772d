// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore
internal import SmallWebTransport

/// A plugin in a tar archive, read with the system's `tar`.
///
/// `tar` is sandboxed like plugin programs and writes no files: it prints a listing, and the bytes
/// of all files one after the other. The files are created here, after a check of their names and
/// types. Owners, times and all modes but the owner's execute permission are ignored.
enum PluginArchive {
    private static let compressions: [(option: String, magic: [UInt8])] = [
        ("-z", [0x1F, 0x8B]), ("-j", Array("BZh".utf8)), ("--zstd", [0x28, 0xB5, 0x2F, 0xFD]),
        ("-J", [0xFD, 0x37, 0x7A, 0x58, 0x5A]), ("--lzip", Array("LZIP".utf8)),
    ]
    /// Limit of a path with its directories.
    private static let pathBytesMax = 1024
    private static let depthMax = 32
    private static let listBytesMax = 8 << 20

    /// Unpacks a tar archive into a temporary directory while `body` runs.
    ///
    /// - Parameter body: Receives the folder with the manifest.
    /// - Throws: `plugin` for any other file; `read`, `write`; the errors of `body`.
    static func unpacked(
        _ file: String, _ body: (_ folder: String) throws(FetchError) -> Void
    ) throws(FetchError) {
        let bytes = try InputSource.read(file == "-" ? "@./-" : "@" + file)
        let compression = compressions.first { bytes.starts(with: $0.magic) }?.option
        let temporary: TemporaryDirectory
        do throws(SystemError) {
            temporary = try TemporaryDirectory()
        } catch {
            throw FetchError(.write, .output, "cannot unpack \(file): \(error.sentence)")
        }
        defer { temporary.remove() }
        let top = temporary.path + "/plugin"
        let folder: String
        do throws(FetchError) {
            folder = top + (try root(of: try unpack(file, compression, to: top)))
        } catch {
            guard error.outcome == .plugin else { throw error }
            let isMissing = error.errnoName == "ENOENT"
            throw .plugin(
                "\(file): " + (isMissing ? "tar is missing: install GNU tar" : error.message))
        }
        do throws(FetchError) {
            try body(folder)
        } catch {
            // The user knows the file, so messages name it instead of the folder.
            throw FetchError(
                error.outcome, error.phase,
                error.message.replacing(text: resolvingLinks(folder), with: file),
                errnoName: error.errnoName, hint: error.hint)
        }
    }

    private static let damaged = FetchError.plugin("it is damaged")

    /// The directory of the manifest: the top, or the only directory there.
    private static func root(of paths: [String: Bool]) throws(FetchError) -> String {
        if paths["plugin.json"] == false { return "" }
        let tops = Set(paths.keys.compactMap { $0.split(separator: "/").first })
        if let top = tops.first, tops.count == 1, paths["\(top)/plugin.json"] == false {
            return "/\(top)"
        }
        throw .plugin("it has no plugin.json at its top or in its one directory")
    }

    /// - Returns: The paths created below `top`; true for directories.
    private static func unpack(
        _ file: String, _ compression: String?, to top: String
    ) throws(FetchError) -> [String: Bool] {
        let (listing, bytes) = try read(file, compression, listing: top + ".list")
        try PluginTree.makeDirectory(top)
        var (paths, rest) = ([String: Bool](), bytes[...])
        for line in listing {
            let entry = try Entry(line)
            guard entry.size <= rest.count else { throw damaged }
            for count in 0..<entry.parts.count {
                let path = entry.parts[...count].joined(separator: "/")
                let isDirectory = entry.isDirectory || count < entry.parts.count - 1
                if let known = paths[path] {
                    guard known && isDirectory else { throw .plugin("it has \(path) twice") }
                    continue
                }
                guard paths.count < PluginTree.entriesMax else {
                    throw .plugin("it has more than \(PluginTree.entriesMax) files")
                }
                paths[path] = isDirectory
                if isDirectory {
                    try PluginTree.makeDirectory("\(top)/\(path)")
                } else {
                    try PluginTree.write(
                        Array(rest.prefix(entry.size)), to: "\(top)/\(path)",
                        isProgram: entry.isProgram)
                }
            }
            rest = rest.dropFirst(entry.size)
        }
        guard rest.isEmpty else { throw damaged }
        return paths
    }

    /// Runs `tar`. Returns its listing, with a line for each file and directory, and the bytes of
    /// all files.
    private static func read(
        _ file: String, _ compression: String?, listing: String
    ) throws(FetchError) -> (listing: [Substring], bytes: [UInt8]) {
        let archive = Descriptor(
            owning: try PluginTree.call("cannot read", file, .read) {
                open(file, O_RDONLY | O_CLOEXEC)
            })
        let list = Descriptor(
            owning: try PluginTree.call("cannot write", listing) {
                open(listing, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            })
        var ends: [Int32] = [-1, -1]
        _ = try PluginTree.call("cannot unpack", file) { swposix_pipe(&ends) }
        let output = Descriptor(owning: ends[0])
        var limits = ProgramRequest.Limits()
        limits.memoryBytes = 2 * PluginTree.bytesMax
        let process: ContainedProcess
        do {
            defer { close(ends[1]) }
            process = try ContainedProcess(
                folder: directory(of: listing),
                words: ["tar", "-xOPRvvf-", "--quoting-style=escape", "--numeric-owner"]
                    + (compression.map { [$0] } ?? []),
                environment: ["LC_ALL": "C"], limits: limits,
                descriptors: [archive.borrowed, ends[1], list.borrowed, -1, -1, -1])
        }
        let bytes: [UInt8]
        let text: [UInt8]
        do throws(SystemError) {
            bytes = try FileBytes.read(
                output.borrowed, limit: PluginTree.bytesMax, by: Patience().call)
            var event = pollfd(fd: process.endDescriptor, events: Int16(POLLIN), revents: 0)
            _ = try systemCall { poll(&event, 1, -1) }
            text = try FileBytes.read(list.borrowed, at: 0, count: listBytesMax)
        } catch {
            if error.number == EFBIG {
                throw .plugin("it has more than \(PluginTree.bytesMax >> 20) MiB")
            }
            throw PluginTree.failure("cannot unpack", file, error)
        }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        guard try process.reap() == .exited(0) else {
            let said = lines.first { !$0.hasPrefix("block ") || $0.range(ofText: ": tar: ") != nil }
            throw .plugin(said.map(String.init) ?? "tar was ended: it took too much time or space")
        }
        let entries = lines.filter { $0.hasPrefix("block ") }
        // For a truncated archive tar prints: ** End of File **
        guard entries.last?.hasSuffix(": ** Block of NULs **") == true else {
            throw .plugin("it is cut off")
        }
        return (entries.dropLast(), bytes)
    }

    /// A line of the listing, for example `block 2: -rwxr-xr-x 0/0       12 2026-11-23 08:27
    /// hello/hello`.
    private struct Entry {
        let parts: [Substring]
        let isDirectory: Bool
        let isProgram: Bool
        let size: Int

        init(_ line: Substring) throws(FetchError) {
            let fields = line.split(separator: " ", maxSplits: 7)
            guard fields.count == 8, let name = Self.unescaped(fields[7]),
                name.utf8.count <= pathBytesMax,
                !name.unicodeScalars.contains(where: TerminalText.isDangerous)
            else { throw .plugin("a name is empty, too long or not text") }
            let mode = Array(fields[2])
            guard let kind = mode.first, "-d".contains(kind), let size = Int(fields[4]) else {
                throw .plugin("\(name) is neither a file nor a directory")
            }
            parts = name.split(separator: "/").filter { $0 != "." }
            guard parts.count <= depthMax else { throw .plugin("\(name) is too deep") }
            guard !name.hasPrefix("/"), !parts.contains("..") else {
                throw .plugin("\(name) leads out of it")
            }
            isDirectory = kind == "d"
            guard isDirectory ? size == 0 : !parts.isEmpty else {
                throw .plugin("\(name) is a directory with bytes")
            }
            isProgram = mode.count > 3 && "xs".contains(mode[3])
            self.size = size
        }

        /// - Returns: `nil` for text that is not UTF-8, and for escapes of control characters.
        private static func unescaped(_ text: Substring) -> String? {
            var (bytes, rest) = ([UInt8](), Array(text.utf8)[...])
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "\\") else {
                    bytes.append(byte)
                    continue
                }
                let code = rest.first == byte ? rest.prefix(1) : rest.prefix(3)
                let octal = UInt8(String(decoding: code, as: UTF8.self), radix: 8)
                guard let value = code.first == byte ? byte : octal else { return nil }
                bytes.append(value)
                rest = rest.dropFirst(code.count)
            }
            return String(validating: bytes, as: UTF8.self)
        }
    }
}

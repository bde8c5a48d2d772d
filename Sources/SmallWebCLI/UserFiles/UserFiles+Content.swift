// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

extension UserFiles {
    /// Expands `~/` to the home directory.
    static func withHome(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home = Environment.variable("HOME") else { return path }
        return home + path.dropFirst()
    }

    /// Reads a required file completely; blocks on a FIFO.
    ///
    /// - Parameter what: The kind of file for the message, such as `the history`.
    /// - Throws: `read`.
    static func content(
        of path: String, _ what: String, _ patience: Patience = Patience()
    ) throws(FetchError) -> [UInt8] {
        do throws(SystemError) {
            let file = Descriptor(
                owning: try patience.call { open(path, O_RDONLY | O_CLOEXEC) })
            return try FileBytes.read(file.borrowed, limit: 4 << 20)
        } catch {
            if let failure = Patience.failure(error, "no program opens \(path) to write it") {
                throw failure
            }
            throw FetchError(.read, .input, "cannot read \(what) \(path)", error)
        }
    }
}

extension Settings {
    /// Operands with the URLs of files in the place of their paths, where those may be named.
    func named(_ operands: [String]) -> [String] {
        guard fetch.readsFiles else { return operands }
        return operands.map {
            URI.scheme(of: $0) == nil && !OperandSource.isList($0) ? UserFiles.url(of: $0) : $0
        }
    }
}

extension UserFiles {
    /// True for a word that can be nothing but a path, and for the name of a page that is there.
    static func isPath(_ word: String) -> Bool {
        let isClear = ["/", "./", "../", "~/"].contains(where: (word + "/").hasPrefix)
        return isClear
            || URI.scheme(of: word) == nil && MediaType(ofFile: word)?.isText ?? false
                && exists(word)
    }

    /// The URL of a path.
    static func url(of path: String) -> String {
        var path = withHome(path)
        // In a URL these two steps would be taken without a look at links.
        if "/\(path)/".contains(text: "/../") {
            while path.hasSuffix("/") { path.removeLast() }
            path =
                resolvingLinks(directory(of: path)) + "/" + (path.split(separator: "/").last ?? "")
        }
        return Registry.url(
            ofFile: path.hasPrefix("/") ? path : resolvingLinks(".") + "/" + path)
    }

    /// Longest file to read in bytes; a file of fingerprints is far smaller.
    private static let fileBytesMax = 4096

    /// A directory of small files as text: one line for each file, with its path and its lines,
    /// separated by tabs.
    static func text(ofDirectory path: String, depth: Int = 0) throws(FetchError) -> String {
        var text = ""
        for name in try names(in: path) {
            let child = path + "/" + name
            if fileKind(child) == S_IFDIR {
                if depth < 4 { text += try Self.text(ofDirectory: child, depth: depth + 1) }
            } else {
                // Only regular files, as a FIFO would block. An unreadable file counts as empty.
                let bytes = (try? FileBytes.end(of: child, limit: fileBytesMax)) ?? []
                let content = String(decoding: bytes, as: UTF8.self)
                let lines = content.split(whereSeparator: \.isNewline).joined(separator: "\t")
                text += "\(child)\t\(lines)\n"
            }
        }
        return text
    }

    /// Writes the files below `directory`; never replaces an existing file.
    static func write(_ text: String, toDirectory directory: String) throws(FetchError) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "\t", maxSplits: 1)
            // Reject slashes, so that no name leads out of the directory.
            guard parts.count == 2, !parts[0].contains("/"), parts[0].first != "." else { continue }
            let path = "\(directory)/\(parts[0])"
            guard access(path, F_OK) != 0 else {
                throw FetchError(
                    .write, .output, "\(path) is there already", hint: "name a new directory")
            }
            let file = try FileOutput(path, clash: .overwrite, createsDirectories: true)
            let lines = parts[1].split(separator: "\t").joined(separator: "\n")
            try file.write(Array((lines + "\n").utf8)[...])
            try file.commit()
        }
    }
}

// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

extension Command {
    static let put = Command(
        name: "put", synopsis: "put URL [FILE|-]", summary: "upload a file to titan://",
        manual: "Uploads FILE, or standard input for - or nothing, to a titan URL and prints the "
            + "reply. The type comes from the file's name unless --mime gives it. The body is "
            + "never sent again after a redirect.",
        examples: [
            ("smallweb put titan://example.org/notes/a.gmi a.gmi", "Upload a page"),
            ("smallweb put --delete titan://example.org/notes/a.gmi", "Delete a page"),
        ],
        operands: [.url, .file], mainOptions: ["mime", "token-file", "delete", "identity"],
        takes: {
            ![.links, .refs, .http, .bulk].contains($0.group) && $0.isForFetches
                && !["head", "data"].contains($0.long)
        }
    ) { settings, operands throws(FetchError) in
        guard let url = operands.first, operands.count <= 2 else {
            throw usageError("put wants a URL and a file", hint: "smallweb put titan://host/a FILE")
        }
        var settings = settings
        do throws(FetchError) {
            guard URI.scheme(of: url) == "titan" else {
                throw usageError(
                    "put knows titan:// alone, not \(url)",
                    hint: "smallweb put titan://host/a FILE")
            }
            settings.upload = try PutCommand.upload(operands.dropFirst().first ?? "-", settings)
        } catch {
            guard settings.writesJSON else { throw error }
            Messages(settings: settings).error(url, error)
            let record = Recorder.refusal(Order(url: url), error, settings)
            try StandardStream.output.write(record[...], isWhole: true)
            return error.outcome.exitStatus
        }
        // The usual reply is a redirect to the page in Gemini.
        settings.redirects.otherSchemes.insert("gemini")
        // An answer to a prompt, or another attempt, would need the body once more.
        settings.promptsAllowed = false
        settings.retriesMax = 0
        return try GetCommand(settings: settings, operands: [url]).run()
    }
}

/// `smallweb put`: what is sent.
enum PutCommand {
    static func upload(_ name: String, _ settings: Settings) throws(FetchError) -> Upload {
        let bytes = try FileHandleBytes(settings.deletes ? "/dev/null" : name)
        guard bytes.count > 0 || settings.deletes else {
            throw usageError(
                "\(InputSource.name(of: name)) is empty, which would delete the page",
                hint: "say so with --delete")
        }
        let token = try token(settings)
        return Upload(
            byteCount: bytes.count, mediaType: settings.mime ?? mediaType(of: name), token: token
        ) { () throws(FetchError) in try bytes.next() }
    }

    /// The same for what is in memory already.
    static func upload(bytes: [UInt8], _ settings: Settings) throws(FetchError) -> Upload {
        let rest = Locked(bytes)
        return Upload(
            byteCount: bytes.count, mediaType: settings.mime ?? mediaType(of: "-"),
            token: try token(settings)
        ) { () throws(FetchError) in
            rest.withLock { rest in
                defer { rest.removeFirst(min(rest.count, 65_536)) }
                return Array(rest.prefix(65_536))
            }
        }
    }

    private static func token(_ settings: Settings) throws(FetchError) -> [UInt8]? {
        if let path = settings.tokenFile {
            return InputSource.withoutLineEnd(try InputSource.read("@" + path))
        }
        guard settings.asksForToken else { return nil }
        guard settings.promptsAllowed, Prompt.isPossible else {
            throw FetchError(
                .needsInput, .input, "nobody is there to ask for the token",
                hint: "put it into a file, for --token-file")
        }
        let messages = Messages(settings: settings)
        guard let token = Prompt.read("token:", isSensitive: true, messages: messages) else {
            throw .cancelled
        }
        return token
    }

    private static func mediaType(of name: String) -> String {
        let types = [
            "gmi": "text/gemini", "gemini": "text/gemini", "txt": "text/plain",
            "md": "text/markdown", "html": "text/html", "css": "text/css", "csv": "text/csv",
            "json": "application/json", "xml": "application/xml", "pdf": "application/pdf",
            "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
            "svg": "image/svg+xml", "webp": "image/webp", "mp3": "audio/mpeg", "ogg": "audio/ogg",
            "zip": "application/zip", "gz": "application/gzip",
        ]
        // Servers disagree about what no type means, so one is always sent.
        guard name != "-", let dot = name.lastIndex(of: ".") else { return "text/gemini" }
        return types[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }
}

/// A file whose size is known before it is read: what is no regular file is spooled first.
//
// @unchecked: read by one fetch at a time.
private final class FileHandleBytes: @unchecked Sendable {
    let count: Int
    private let file: Int32
    private var left: Int

    init(_ name: String) throws(FetchError) {
        do throws(SystemError) {
            var file = try systemCall { name == "-" ? dup(0) : open(name, O_RDONLY | O_CLOEXEC) }
            var status = stat()
            fstat(file, &status)
            if status.st_mode & S_IFMT != S_IFREG {
                let folder = Environment.variable("TMPDIR") ?? "/var/tmp"
                var template = Array((folder + "/smallweb-XXXXXX").utf8CString)
                let copy = try systemCall { mkstemp(&template) }
                unlink(template)
                var piece = [UInt8](repeating: 0, count: 65_536)
                while true {
                    let count = try systemCall { read(file, &piece, piece.count) }
                    if count == 0 { break }
                    try writeAll(piece[..<count], to: copy)
                }
                close(file)
                file = copy
                lseek(file, 0, SEEK_SET)
                fstat(file, &status)
            }
            self.file = file
            count = Int(status.st_size) - Int(lseek(file, 0, SEEK_CUR))
            left = count
        } catch {
            throw Self.failure(name, error)
        }
    }

    deinit { close(file) }

    func next() throws(FetchError) -> [UInt8] {
        guard left > 0 else { return [] }
        var piece = [UInt8](repeating: 0, count: min(left, 65_536))
        do throws(SystemError) {
            let count = try systemCall { read(file, &piece, piece.count) }
            // The server waits for what was promised.
            guard count > 0 else { throw SystemError(number: EIO) }
            left -= count
            return Array(piece[..<count])
        } catch {
            throw Self.failure("the upload", error)
        }
    }

    private static func failure(_ name: String, _ error: SystemError) -> FetchError {
        FetchError(
            .read, .input, "cannot read \(InputSource.name(of: name)): \(error.sentence)",
            errnoName: error.name)
    }
}

// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let put = Command(
        "put URL [FILE|-]", operands: [.url, .file], taker: .put
    ) { settings, operands throws(FetchError) in
        guard let url = operands.first, operands.count <= 2 else {
            throw usageError("put wants a URL and a file", hint: "smallweb put titan://host/a FILE")
        }
        let file = operands.dropFirst().first ?? PutCommand.pipe(settings)
        var settings = settings
        do throws(FetchError) {
            try PutCommand.prepare(&settings, for: url, file)
        } catch {
            guard let record = settings.refusal(of: RecordSubject(url: url), error)
            else { throw error }
            Messages(settings.messages).error(url, error)
            try StandardStream.output.write(record[...], isWhole: true)
            return Verdict(failure: error).status
        }
        // Answering a prompt would require sending the body again.
        settings.fetch.promptsAllowed = false
        return try GetCommand(settings, [url]).run()
    }.with(\.mainOptions, ["mime", "token-file", "ask-token", "delete", "identity"]).with(\.canUse)
    {
        $0.uploads != nil
    }
}

enum PutCommand {
    /// `-` if standard input is a pipe or a file and no file is named.
    static func pipe(_ settings: Settings) -> String? {
        var facts = stat()
        guard !settings.fetch.deletes, fstat(0, &facts) == 0 else { return nil }
        return [S_IFIFO, S_IFREG].contains(facts.st_mode & S_IFMT) ? "-" : nil
    }

    /// - Parameter next: The word after the URL.
    /// - Throws: `usage` for the URL of a scheme without uploads.
    static func target(
        of url: String, _ registry: Registry, before next: String? = nil
    ) throws(FetchError) -> (Scheme, Scheme.Uploads) {
        let scheme = URI.scheme(of: url) ?? ""
        guard let scheme = registry[scheme]?.scheme, let uploads = scheme.uploads else {
            let names = registry.schemes.filter { $0.uploads != nil }.map { $0.name + "://" }
                .joined(separator: ", ")
            throw usageError(
                "nothing can be uploaded to \(URI.shown(url))",
                hint: Advice.swapped(url, next, registry) ?? Advice.meant(by: url, registry)
                    ?? (registry.hasHeaderFields(scheme)
                        ? "smallweb get -X PUT -d @FILE \(URI.shown(url))"
                        : "uploads are for \(names), and a file comes behind the URL"))
        }
        return (scheme, uploads)
    }

    /// Reads the data to upload to `url`, and the secrets for it.
    static func prepare(
        _ settings: inout Settings, for url: String, _ file: String?
    ) throws(FetchError) {
        let (scheme, uploads) = try target(of: url, try settings.registry(), before: file)
        // Sections of the config file can name secrets and their files, too.
        let own = try settings.configuration.applied(to: settings, for: url)
        guard own.fetch.deletes != (file != nil) else {
            throw own.fetch.deletes
                ? usageError("--delete sends nothing", hint: "leave out \(file ?? "")")
                : usageError("no file to upload", hint: "name one, or - for standard input")
        }
        guard !own.fetch.deletes || uploads.deletesWhenEmpty else {
            throw usageError("nothing can be deleted over \(scheme.name)")
        }
        if file == "-" { Messages(settings.messages).promptToType("the text to upload") }
        settings.fetch.upload = try upload(file, for: url, to: scheme, own.fetch)
        try prepare(&settings, own, uploads)
    }

    /// Reads the secrets of an upload.
    ///
    /// - Parameter own: The settings for its URL.
    static func prepare(
        _ settings: inout Settings, _ own: Settings, _ uploads: Scheme.Uploads
    ) throws(FetchError) {
        settings.fetch.secretFiles = own.fetch.secretFiles
        settings.fetch.secretsToAsk = own.fetch.secretsToAsk
        try settings.fetch.readSecrets(own.asker)
        // The usual reply is a redirect to the page.
        settings.fetch.redirects.otherSchemes.formUnion(uploads.replySchemes)
    }

    /// - Parameter file: A name, or `-` for standard input; `nil` to send nothing.
    private static func upload(
        _ file: String?, for url: String, to scheme: Scheme, _ limits: FetchSettings
    ) throws(FetchError) -> Request.Upload {
        let upload = try Request.Upload(
            file ?? "/dev/null", mediaType: mediaType(of: file, to: url, scheme), limits)
        guard upload.byteCount > 0 || file == nil || scheme.uploads?.deletesWhenEmpty == false
        else {
            throw usageError(
                "\(InputSource.name(of: file ?? "")) is empty, which would delete the page",
                hint: Advice.deletion)
        }
        return upload
    }

    /// The type of a file, or that of the page at the URL.
    static func mediaType(of file: String?, to url: String, _ scheme: Scheme) -> String {
        mediaType(of: file ?? "") ?? mediaType(of: (try? URI(parsing: url).path) ?? "")
            ?? scheme.uploads?.mediaType ?? "application/octet-stream"
    }

    /// Creates an upload of bytes in memory.
    ///
    /// - Parameter file: The name of the file in which they are; `nil` for the usual type.
    /// - Throws: `usage` for a scheme without uploads, or for an empty upload that would delete the
    ///   page.
    static func upload(
        bytes: [UInt8], of file: String? = nil, to scheme: Scheme, isRehearsal: Bool = false
    ) throws(FetchError) -> Request.Upload {
        guard let uploads = scheme.uploads else {
            throw usageError("nothing can be uploaded over \(scheme.name)")
        }
        guard !bytes.isEmpty || isRehearsal || !uploads.deletesWhenEmpty else {
            throw usageError("the upload is empty, which would delete the page")
        }
        return Request.Upload(
            bytes,
            mediaType: file.map { mediaType(of: $0, to: "", scheme) } ?? uploads.mediaType)
    }

    /// The media type by file extension; `nil` without an extension.
    private static func mediaType(of path: String) -> String? {
        let name = path.drop { $0 == "-" }.split(separator: "/").last ?? ""
        guard name.dropFirst().contains(".") else { return nil }
        return MediaType(ofFile: String(name))?.essence ?? "application/octet-stream"
    }
}

extension FetchSettings {
    /// Reads the secrets in files, and asks for the others once each.
    mutating func readSecrets(_ asker: Asker) throws(FetchError) {
        defer { (secretFiles, secretsToAsk) = ([:], []) }
        for (key, path) in secretFiles {
            options[key] = .secret(
                InputSource.withoutLineEnd(try InputSource.read("@" + path)))
        }
        for key in secretsToAsk.sorted() where options.secret(key) == nil {
            guard asker.canAsk else {
                throw FetchError(
                    .needsInput, .input, "cannot ask for the \(key) without a terminal",
                    hint: "put it into a file, for --\(key)-file")
            }
            guard let secret = asker.ask("\(key):", isSensitive: true) else { throw .cancelled }
            options[key] = .secret(secret)
        }
    }
}

extension Request.Upload {
    /// A file of known size: input other than a regular file is copied first.
    ///
    /// - Parameters:
    ///   - name: A name, or `-` for standard input.
    ///   - limits: Timeout and size limit for the copy.
    fileprivate init(
        _ name: String, mediaType: String, _ limits: FetchSettings
    ) throws(FetchError) {
        let patience = Patience(seconds: limits.totalSeconds)
        let bytesMax = limits.bodyBytesMax.map { $0 == 0 ? .max : $0 } ?? .max
        do throws(SystemError) {
            let source = Descriptor(
                owning: try patience.call {
                    name == "-" ? dup(0) : open(name, O_RDONLY | O_CLOEXEC)
                })
            var status = stat()
            _ = try systemCall { fstat(source.borrowed, &status) }
            let isFile = status.st_mode & S_IFMT == S_IFREG
            let file = if isFile { source } else { try Self.copy(of: source, bytesMax, patience) }
            try self.init(reading: file, mediaType: mediaType)
            // Standard input is at its end, for the commands of a script that follow.
            if name == "-" && isFile { _ = try systemCall { lseek(0, 0, SEEK_END) } }
        } catch {
            let shown = InputSource.name(of: name)
            if error.number == EOVERFLOW {
                throw FetchError(
                    .tooLarge, .input, "\(shown) has more than the \(bytesMax) bytes allowed",
                    remedy: .raise(.bodyBytes))
            }
            throw InputSource.failure(error, of: name, "cannot read \(shown)")
        }
    }

    /// Copies input to an unnamed file, positioned at its beginning.
    ///
    /// - Throws: EOVERFLOW for more than `bytesMax`; the errors of `patience`.
    private static func copy(
        of file: borrowing Descriptor, _ bytesMax: Int, _ patience: Patience
    ) throws(SystemError) -> Descriptor {
        let copy = Descriptor(owning: try TemporaryFile.open())
        var piece = [UInt8](repeating: 0, count: 65_536)
        let number = file.borrowed
        var total = 0
        while true {
            let count = try patience.call { read(number, &piece, piece.count) }
            if count == 0 { break }
            total += count
            guard total <= bytesMax else { throw SystemError(number: EOVERFLOW) }
            // Input that never blocks, such as /dev/zero, is not subject to the alarm.
            guard patience.deadline > .now else { throw SystemError(number: ETIMEDOUT) }
            try writeAll(piece[..<count], to: copy.borrowed)
        }
        _ = try systemCall { lseek(copy.borrowed, 0, SEEK_SET) }
        return copy
    }
}

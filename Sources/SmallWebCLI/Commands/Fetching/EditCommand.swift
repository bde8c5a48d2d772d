// SPDX-License-Identifier: MIT
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let edit = Command("edit URL", taker: .edit) { settings, operands throws(FetchError) in
        guard let url = operands.first, operands.count == 1 else {
            throw usageError("edit wants one URL", hint: "smallweb edit titan://host/a")
        }
        let command = try EditCommand(settings, url)
        return try FetchRun.run(command.settings) { settings, loop in
            await command.run(settings, loop)
        }
    }.with(\.optionNames, ["force"]).with(
        \.mainOptions, ["force", "mime", "token-file", "ask-token", "identity"]
    ).with(\.canUse) { $0.uploads != nil }
}

/// Fetches the text of a page, has it edited, and sends it back.
private struct EditCommand: Sendable {
    private(set) var settings: Settings
    /// Of the upload.
    private var url: String
    private let scheme: Scheme
    /// The URLs that may have the text, the best first.
    private var sources: [String] = []

    /// Limit of a page, unless the user sets another.
    private static let bytesMax = 16 << 20

    /// - Throws: `usage` for a page that takes no uploads, `bad-url`.
    init(_ settings: Settings, _ named: String) throws(FetchError) {
        (self.settings, url) = (settings, named)
        let registry = try settings.registry()
        // The page itself may be named.
        if let name = URI.scheme(of: url), registry[name]?.scheme.uploads == nil,
            let upload = registry.schemes.first(where: { $0.pageScheme == name })
        {
            url = upload.name + url.dropFirst(name.count)
        }
        let name = URI.scheme(of: url) ?? ""
        if registry.hasHeaderFields(name), let scheme = registry[name]?.scheme {
            (self.scheme, sources) = (scheme, [url])
        } else {
            let uploads: Scheme.Uploads
            (scheme, uploads) = try PutCommand.target(of: url, registry)
            let own = try settings.configuration.applied(to: settings, for: url)
            try PutCommand.prepare(&self.settings, own, uploads)
            if let mark = scheme.editMark {
                var uri = try URI(parsing: url)
                guard uri.host != nil || scheme.hostForm != .required else {
                    throw .badURL("no host in the URL")
                }
                if uri.path.hasSuffix(mark) { uri.path.removeLast(mark.count) }
                url = uri.description
                uri.path = (uri.path.isEmpty ? "/" : uri.path) + mark
                sources = [uri.description]
            }
            sources.append((scheme.pageScheme ?? scheme.name) + url.dropFirst(scheme.name.count))
        }
        // Answering a prompt would require sending the text again.
        self.settings.fetch.promptsAllowed = false
        self.settings.fetch.bodyBytesMax = settings.fetch.bodyBytesMax ?? Self.bytesMax
    }

    /// - Returns: The exit status: 0 if the page is as the editor has left it.
    func run(_ settings: Settings, _ loop: EventLoop) async -> Int32 {
        let messages = Messages(settings.messages)
        var (file, status) = (EditedFile?.none, Int32(0))
        do throws(FetchError) {
            status = try await edit(&file, settings, loop)
        } catch {
            if error.outcome != .interrupted { messages.error(error.url ?? url, error) }
            status = Verdict(failure: error).status
        }
        if let path = file?.path, access(path, F_OK) == 0 {
            messages.answer(["smallweb: what was typed is in \(path)"])
            messages.hint("\(command(sending: path)) sends it")
        }
        return status
    }

    /// The command line that sends a file, with the options of this one.
    private func command(sending path: String) -> String {
        let isPut = scheme.uploads != nil
        var words = settings.invocation.maskedWords.filter { $0 != "--force" }
        let named = settings.invocation.operands.dropFirst().last.map(URI.display)
        if let place = words.firstIndex(of: "edit") { words[place] = isPut ? "put" : "get" }
        if let place = words.lastIndex(where: { $0 == named }) { words[place] = URI.display(url) }
        words += isPut ? [path] : ["-X", "PUT", "-d", "@\(path)"]
        return "smallweb " + words.map(Advice.quoted).joined(separator: " ")
    }

    /// - Parameter file: The text, from when the editor has changed it until the server has it.
    private func edit(
        _ file: inout EditedFile?, _ settings: Settings, _ loop: EventLoop
    ) async throws(FetchError) -> Int32 {
        let before = try await page(from: sources, settings, loop)
        let usual = MediaType(parsing: PutCommand.mediaType(of: nil, to: url, scheme))
        // The default for unknown files is not a type of text.
        let isKnown = usual.map { $0.essence != "application/octet-stream" } ?? false
        let type = before.head?.mediaType ?? (isKnown ? usual : nil) ?? MediaType("text/plain")
        let text = try EditedFile(before.bytes, type, of: url)
        file = text
        let failure = text.openEditor()
        let edited = try text.read()
        if edited?.isEmpty ?? true {
            file = nil
            try PluginTree.remove(text.directory)
        }
        if let failure { throw failure }
        if swposix_pending_signal() != 0 { throw .cancelled }
        guard let edited else {
            Messages(settings.messages).answer(["smallweb: nothing has changed, nothing was sent"])
            return 0
        }
        guard !edited.isEmpty else {
            throw usageError(
                "the text is empty: nothing was sent",
                hint: scheme.uploads?.deletesWhenEmpty ?? false ? Advice.deletedPage : nil)
        }
        let now =
            settings.stores.isForced
            ? before : try await page(from: [before.source], settings, loop)
        guard (now.head == nil) == (before.head == nil), now.bytes == before.bytes else {
            throw FetchError(
                .temporaryFailure, .input, "the page has changed meanwhile: nothing was sent",
                hint: Advice.changedPage)
        }
        let status = try await send(edited, text.type, settings, loop)
        if status == 0 {
            file = nil
            try PluginTree.remove(text.directory)
        }
        return status
    }

    // MARK: The server

    /// A page; without a head it is not there.
    private typealias Page = (head: Head?, bytes: [UInt8], source: String)

    /// Fetches the page. Redirects are not followed: the text of another would replace it.
    private func page(
        from sources: [String], _ settings: Settings, _ loop: EventLoop
    ) async throws(FetchError) -> Page {
        let registry = try settings.registry()
        for source in sources {
            let (opened, isLast) = (OpenedPage(isInSession: true), source == sources.last)
            opened.isJudgedByCaller = true
            let entry = registry[URI.scheme(of: source) ?? ""]
            var asked = settings
            asked.output.page = opened
            asked.records.options.body = .none
            asked.fetch.redirects.follows = false
            // An option of neither is refused before the editor.
            let known = entry?.handler.options(of: entry?.scheme.name ?? "").map(\.key) ?? []
            for option in registry[scheme.name]?.handler.options(of: scheme.name) ?? []
            where !known.contains(option.key) {
                asked.fetch.options[option.key] = nil
            }
            _ = try await GetCommand(asked, [source]).fetchAll(asked, loop)
            let ending: Ending
            switch opened.attempt {
            case .ended(let ended)?: ending = ended
            // Of a server that does not know the request for the text.
            case .failed(let error)?
            where !isLast && [.emptyReply, .protocolError].contains(error.outcome):
                continue
            case .failed(let error)?: throw error.of(source)
            case nil: throw .cancelled
            }
            let head = ending.head
            if ending.outcome == .ok, head?.replyClass == .success {
                var bytes: [UInt8] = []
                try opened.body.read { bytes += $0 }
                return (head, bytes, source)
            }
            let isRefusal = [.redirect, .permanentFailure].contains(head?.replyClass)
            if isRefusal && !isLast { continue }
            let missing = entry?.scheme.crawling?.missingStatus
            if head?.isMissing ?? false || missing != nil && head?.status == missing {
                return (nil, [], source)
            }
            let target = head?.redirectTarget.map { "the page is elsewhere: \($0)" }
            var error = FetchError(
                target == nil ? ending.outcome : .redirectRefused, .header,
                target ?? ending.message ?? ending.outcome.summary)
            error.remedy = ending.remedy
            throw error.of(source)
        }
        preconditionFailure("the last source returns or throws")
    }

    /// - Returns: The exit status.
    private func send(
        _ bytes: [UInt8], _ type: String, _ settings: Settings, _ loop: EventLoop
    ) async throws(FetchError) -> Int32 {
        var settings = settings
        if scheme.uploads != nil {
            settings.fetch.upload = Request.Upload(bytes, mediaType: type)
        } else {
            settings.fetch.input = .bytes(bytes)
            settings.fetch.options["request"] = .text("PUT")
            settings.fetch.options.append("Content-Type: \(type)", to: "header")
        }
        return try await GetCommand(settings, [url]).fetchAll(settings, loop)
    }
}

/// The text of a page in a file for the editor, in UTF-8, which no other user can read.
private struct EditedFile {
    /// Its own.
    let directory: String
    let path: String
    /// The type of the page, with its charset unless that is UTF-8.
    let type: String
    private let text: [UInt8]
    private let charset: String
    /// Of all lines of the page; `nil` if it has none, or different ones.
    private let lineEnd: [UInt8]?

    /// - Throws: `usage` for a page that is not text, `write`.
    init(_ page: [UInt8], _ type: MediaType, of url: String) throws(FetchError) {
        charset = type.charset ?? "utf-8"
        let isUsual = ["utf-8", "utf8"].contains(charset)
        self.type = MediaType(type.essence, isUsual ? [:] : ["charset": charset]).description
        guard type.isText, let text = Iconv.convert(page, from: charset, to: "utf-8"),
            !text.contains(0)
        else {
            throw usageError(
                "the page is not text that can be edited, but \(type)",
                hint: "'smallweb get -O' saves it, and 'smallweb put' sends a file")
        }
        self.text = text
        let lines = text.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
            .dropLast()
        let long = lines.count { $0.last == ASCII.carriageReturn }
        lineEnd =
            long == lines.count && long > 0
            ? Array(ASCII.crlf) : long == 0 && !lines.isEmpty ? [ASCII.lineFeed] : nil
        var name = (try? URI(parsing: url)).map { FileName.name(for: $0, head: nil) } ?? "index"
        if let ending = type.fileEnding, MediaType(ofFile: name)?.fileEnding != ending {
            name += "." + ending
        }
        var place = (TemporaryFile.directory + "/smallweb-edit-XXXXXX").systemName
        do throws(SystemError) {
            guard mkdtemp(&place) != nil else { throw SystemError(number: errno) }
            directory = String(systemName: place)
            path = directory + "/" + name
            try AtomicFile.create(path, text)
        } catch {
            // Fails if it was not made.
            _ = rmdir(place)
            throw FetchError(
                .write, .output, "cannot make a file for the editor in \(TemporaryFile.directory)",
                error, remedy: error.remedy)
        }
    }

    /// Runs the editor and waits for its end.
    ///
    /// - Returns: Its failure.
    func openEditor() -> FetchError? {
        let named = Environment.variable("VISUAL") ?? Environment.variable("EDITOR")
        guard named != nil || Environment.isTerminal(0) && Environment.isTerminal(1) else {
            return FetchError(
                .write, .output, "there is no terminal for an editor",
                hint: "set EDITOR to a program that needs none")
        }
        let editor = named ?? "vi"
        let status = Program.run(["/bin/sh", "-c", editor + " \"$1\"", "sh", path]) ?? 127
        guard status != 0 else { return nil }
        // 126 and 127 are the shell's, of a command that cannot be started.
        return FetchError(
            .write, .output,
            "the editor \"\(editor)\" ended with exit status \(status): nothing was sent",
            hint: 126...127 ~= status ? "set VISUAL or EDITOR to another one" : nil)
    }

    /// - Returns: The page with the edited text, in its own charset and with its own line ends;
    ///   `nil` if the editor has changed nothing.
    /// - Throws: `read`, `usage` for characters that the charset lacks.
    func read() throws(FetchError) -> [UInt8]? {
        var edited: [UInt8]
        do throws(SystemError) {
            edited = try FileBytes.read(path, limit: .max)
        } catch {
            throw FetchError(.read, .input, "cannot read \(path)", error)
        }
        guard edited != text else { return nil }
        if let lineEnd {
            let lines = edited.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false)
            edited = Array(
                lines.map { $0.last == ASCII.carriageReturn ? $0.dropLast() : $0 }
                    .joined(separator: lineEnd))
        }
        guard let page = Iconv.convert(edited, from: "utf-8", to: charset) else {
            throw usageError("\(charset), in which the page is, lacks a character of the text")
        }
        return page
    }
}

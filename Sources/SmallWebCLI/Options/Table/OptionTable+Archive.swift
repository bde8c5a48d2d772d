// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebArchive

/// Options for recording and replay, for a whole run.
struct ArchiveSettings: Sendable {
    var file: String?
    var keepsSecrets = false
    var replayed: [String] = []
    var replaysLoosely = false
    /// True to play the latest recording of a URL, not one after the other.
    var replaysLatest = false
    /// Oldest recording that answers without asking the server, in seconds; `nil` for the default.
    var ageSecondsMax: Double?
    var usesCache = false
    /// A cache of the config file gives way to archives that are named.
    var hasCache: Bool { (usesCache || isOffline) && file == nil && replayed.isEmpty }
    /// True to ask no server.
    var isOffline = false
    var cacheBytesMax = 256 << 20
    var writer: ArchiveWriter?
    var cache: PageCache?
    var network = Network.live

    /// All archives with their options, for messages; one that is read and continued once.
    var paths: [(option: String, path: String)] {
        if file == nil, replayed.isEmpty { return [] }
        return (file.map { [("--warc", $0)] } ?? [])
            + Set(replayed).filter { !isContinued($0) }.map { ("--replay", $0) }
    }

    /// True for an archive that is read and added to, under whatever names.
    func isContinued(_ path: String) -> Bool {
        guard let file else { return false }
        return path == file
            || FileIdentity(path: path).map { $0 == FileIdentity(path: file) } ?? false
    }
}

extension Option {
    static let archive: [Option] = [
        Option(
            .warc, .archive, "record the network traffic in FILE",
            manual: "Adds the exact bytes of requests and replies to the WARC archive FILE, above "
                + "TLS, with addresses, certificates and failures; everything else is as without "
                + "it. If the name ends in .gz, each record is compressed. An existing archive is "
                + "continued; an unfinished record at its end is cut off. Answers to prompts for "
                + "passwords, values from --data @FILE and from files of secrets, passwords in "
                + "URLs, Authorization, Cookie and Set-Cookie are written as ***. A file that "
                + "cannot be written ends the run.",
            example: "smallweb get --warc page.warc.gz gemini://geminiprotocol.net/",
            .value("FILE") { settings, value in settings.archive.file = value }),
        Option(
            .warcSecrets, .archive, "with --warc, write secrets too",
            manual: "Writes passwords, tokens and cookies into the archive as they were sent.",
            example: "smallweb get --warc own.warc --warc-secrets gemini://example.org/",
            .flag { settings, isOn in settings.archive.keepsSecrets = isOn }),
        Option(
            .replay, .archive, "answer from the archive FILE alone",
            manual: "Answers each request from the WARC archive FILE: no name is resolved and no "
                + "connection is made. A recording must be of the same scheme, host, port and "
                + "request; several of one request are played in the order of time, then the last "
                + "one again. Certificates are judged as ever, and nothing is added to the trust "
                + "store. A request without a recording is not-recorded, status 103. Options for "
                + "proxies and addresses change nothing. With --warc, what FILE does not have is "
                + "fetched and recorded there. Repeatable.",
            example: "smallweb get --replay page.warc.gz gemini://geminiprotocol.net/",
            .value("FILE") { settings, value in settings.archive.replayed.append(value) }),
        Option(
            .replayLoose, .archive, "with --replay, compare URLs alone",
            manual: "Takes a recording of the same URL, with any request.",
            example: "smallweb get --replay a.warc --replay-loose https://example.org/",
            .flag { settings, isOn in settings.archive.replaysLoosely = isOn }),
        Option(
            .cache, .archive.with(scope: .run), "keep pages; read them if a server is away",
            manual: "Keeps each page in an archive of yours below $XDG_CACHE_HOME/smallweb, and "
                + "answers from there: at once for a page that is younger than --max-age, and for "
                + "any page when the server cannot be reached or refuses for now, which a note "
                + "says. Uploads, answers to prompts, and pages that were fetched with an identity "
                + "or a secret are never kept. Requests with data, or by a method such as DELETE, "
                + "are always sent. 'smallweb cache' lists what there is.",
            example: "smallweb open --cache gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.archive.usesCache = isOn }),
        Option(
            .cacheSize, .archive.with(scope: .run), "with --cache, size of all pages (256M)",
            manual:
                "The size from which the oldest pages go. A page of more than half of it is not "
                + "kept.",
            example: "smallweb get --cache --cache-size 1G -O gopher://example.org/9/disk.img",
            .value("SIZE") { settings, value throws(FetchError) in
                let size = try OptionValue.size(value, "--cache-size")
                guard size > 0 else { throw usageError("--cache-size wants more than nothing") }
                settings.archive.cacheBytesMax = size
            }),
        Option(
            .maxAge, .archive.with(scope: .run), "with --cache, ask for no younger page (0)",
            manual: "The age up to which a recording answers without asking the server: a number "
                + "of seconds, or one with s, m, h, d or w. By default each page of --cache is "
                + "asked for, and none that --replay has with --warc.",
            example: "smallweb open --cache --max-age 1h gemini://geminiprotocol.net/",
            .value("TIME", OptionValue.duration) { $0.archive.ageSecondsMax = $1 }),
        Option(
            .offline, .archive.with(scope: .run), "answer from the cache alone",
            manual: "Answers from the pages of --cache, of any age, and asks no server: a page "
                + "that was not kept is not-recorded, status 103.",
            example: "smallweb open --offline gemini://geminiprotocol.net/",
            .flag { settings, isOn in settings.archive.isOffline = isOn }),
    ]
}

extension Settings {
    /// Opens the archives given by options. Does nothing after a signal: nothing is fetched then.
    ///
    /// - Throws: `write` for an archive to record to, `read` or `protocol-error` for one to replay,
    ///   `timeout` if it takes longer than `--max-time`.
    mutating func openArchives() throws(FetchError) {
        let paths = archive.paths
        guard !paths.isEmpty || archive.hasCache else { return }
        var opened = self
        do throws(FetchError) {
            let names = paths.map(\.path).joined(separator: ", ")
            try LongWork.within(fetch.totalSeconds, reading: names) {
                () throws(FetchError) in try opened.readArchives()
            }
        } catch  where error.outcome == .interrupted {
            return
        }
        self = opened
    }

    private mutating func readArchives() throws(FetchError) {
        if archive.hasCache {
            let cache = try pageCache()
            let network = archive.isOffline ? Network.live : cache.recording(.live)
            archive.cache = cache
            // Those that a kill has left behind are completed now, within the limit of time.
            _ = cache.indexes()
            archive.network = network.recalling(
                cache.indexes, secondsMax: archive.ageSecondsMax ?? 0,
                isAlone: archive.isOffline, forget: cache.forget)
        }
        // Before the first is opened to add to it: both may be the same file, or none so far.
        let recalled = archive.file == nil ? [] : archive.replayed
        var indexes: [CaptureIndex] = []
        for path in recalled {
            do throws(FetchError) {
                indexes.append(try CaptureIndex.reading(path))
            } catch {
                guard error.errnoName == "ENOENT", archive.isContinued(path) else { throw error }
            }
        }
        if let path = archive.file {
            let writer = try ArchiveWriter(
                path, software: "smallweb/\(Help.version)",
                commandLine: "smallweb " + invocation.maskedWords.joined(separator: " "),
                keepsSecrets: archive.keepsSecrets)
            if let note = writer.note { Messages(messages).warning(note) }
            archive.writer = writer
            archive.network = Network.live.recorded(in: writer)
            if !indexes.isEmpty {
                archive.network = archive.network.recalling(
                    { [indexes] in indexes }, secondsMax: archive.ageSecondsMax ?? .infinity,
                    isAlone: false)
            }
        } else if !archive.replayed.isEmpty {
            let messages = Messages(messages)
            archive.network = try .replaying(
                archive.replayed, isLoose: archive.replaysLoosely,
                isLatestFirst: archive.replaysLatest
            ) {
                messages.warning($0)
            }
        }
    }

    /// - Throws: `usage` without a home directory.
    func pageCache() throws(FetchError) -> PageCache {
        guard let stem = UserFiles.path("XDG_CACHE_HOME", ".cache", "pages-") else {
            throw usageError("no home directory for the cache", hint: "set HOME or XDG_CACHE_HOME")
        }
        return PageCache(
            stem, bytesMax: archive.cacheBytesMax, software: "smallweb/\(Help.version)")
    }

    /// Completes the indexes of what was recorded, at the end of a run.
    func finishArchives() {
        if archive.writer?.isFull ?? false {
            Messages(messages).warning(
                "the archive has more replies than are remembered: the same reply may be in it "
                    + "twice")
        }
        var failure = archive.cache?.finish()
        do throws(FetchError) {
            try archive.writer?.finishIndex()
        } catch {
            failure = error
        }
        if let failure { Messages(messages).warning(failure.message) }
    }
}

extension Invocation {
    var maskedWords: [String] {
        words.map { word in
            let value = word.hasPrefix("--") ? word.drop { $0 != "=" }.dropFirst() : word[...]
            let text = value.isEmpty ? word : String(value)
            var masked = URI.display(text)
            // A header field can follow the letter of its option immediately.
            let letter = masked.hasPrefix("-") && !masked.hasPrefix("--") ? masked.prefix(2) : ""
            masked = letter + SecretFields.masked(String(masked.dropFirst(letter.count)))
            return word.dropLast(text.count) + masked
        }
    }
}

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
        Option(.warc, .archive, .value("FILE") { $0.archive.file = $1 }),
        Option(.warcSecrets, .archive, .flag { $0.archive.keepsSecrets = $1 }),
        Option(.replay, .archive, .value("FILE") { $0.archive.replayed.append($1) }),
        Option(.replayLoose, .archive, .flag { $0.archive.replaysLoosely = $1 }),
        Option(.cache, .archive.with(scope: .run), .flag { $0.archive.usesCache = $1 }),
        Option(
            .cacheSize, .archive.with(scope: .run),
            .value("SIZE") { settings, value throws(FetchError) in
                let size = try OptionValue.size(value, "--cache-size")
                guard size > 0 else { throw usageError("--cache-size wants more than nothing") }
                settings.archive.cacheBytesMax = size
            }),
        Option(
            .maxAge, .archive.with(scope: .run),
            .value("TIME", OptionValue.duration) { $0.archive.ageSecondsMax = $1 }),
        Option(.offline, .archive.with(scope: .run), .flag { $0.archive.isOffline = $1 }),
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
        if archive.cache?.hasLeftOut ?? false, isGiven(.cache) {
            try? note("--cache keeps no page that is asked for with an identity")
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

// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebArchive

/// Options for recording and replay, for a whole run.
struct ArchiveSettings: Sendable {
    var file: String?
    var keepsSecrets = false
    var replayed: [String] = []
    var replaysLoosely = false
    var writer: ArchiveWriter?
    var network = Network.live

    /// All archives with their options, for messages.
    var paths: [(option: String, path: String)] {
        if file == nil, replayed.isEmpty { return [] }
        return (file.map { [("--warc", $0)] } ?? []) + Set(replayed).map { ("--replay", $0) }
    }
}

extension Option {
    static let archive: [Option] = [
        Option(
            "warc", .archive, "record the network traffic in FILE",
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
            "warc-secrets", .archive, "with --warc, write secrets too",
            manual: "Writes passwords, tokens and cookies into the archive as they were sent.",
            example: "smallweb get --warc own.warc --warc-secrets gemini://example.org/",
            .flag { settings, isOn in settings.archive.keepsSecrets = isOn }),
        Option(
            "replay", .archive, "answer from the archive FILE alone",
            manual: "Answers each request from the WARC archive FILE: no name is resolved and no "
                + "connection is made. A recording must be of the same scheme, host, port and "
                + "request; several of one request are played in order, then the last one again. "
                + "Certificates are judged as ever, and nothing is added to the trust store. A "
                + "request without a recording is not-recorded, status 103. Options for proxies "
                + "and addresses change nothing. Repeatable.",
            example: "smallweb get --replay page.warc.gz gemini://geminiprotocol.net/",
            .value("FILE") { settings, value in settings.archive.replayed.append(value) }),
        Option(
            "replay-loose", .archive, "with --replay, compare URLs alone",
            manual: "Takes a recording of the same URL, with any request.",
            example: "smallweb get --replay a.warc --replay-loose https://example.org/",
            .flag { settings, isOn in settings.archive.replaysLoosely = isOn }),
    ]
}

extension Settings {
    /// - Throws: `usage` for conflicting options.
    func checkArchives() throws(FetchError) {
        if archive.keepsSecrets && archive.file == nil {
            throw usageError("--warc-secrets needs a --warc")
        }
        guard archive.file == nil || archive.replayed.isEmpty else {
            throw usageError(
                "--warc and --replay do not go together: a replay has nothing new to record")
        }
        if invocation.given.contains("replay-loose"), archive.replayed.isEmpty {
            throw usageError("--replay-loose needs a --replay")
        }
    }

    /// Opens the archives given by options. Does nothing after a signal: nothing is fetched then.
    ///
    /// - Throws: `write` for an archive to record to, `read` or `protocol-error` for one to replay,
    ///   `timeout` if it takes longer than `--max-time`.
    mutating func openArchives() throws(FetchError) {
        let paths = archive.paths
        guard !paths.isEmpty else { return }
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
        if let path = archive.file {
            let writer = try ArchiveWriter(
                path, software: "smallweb/\(Help.version)",
                commandLine: "smallweb " + invocation.maskedWords.joined(separator: " "),
                keepsSecrets: archive.keepsSecrets)
            if let note = writer.note { Messages(messages).warning(note) }
            archive.writer = writer
            archive.network = Network.live.recorded(in: writer)
        }
        if !archive.replayed.isEmpty {
            let messages = Messages(messages)
            archive.network = try .replaying(
                archive.replayed, isLoose: archive.replaysLoosely
            ) {
                messages.warning($0)
            }
        }
    }

    func warnOfFullArchive() {
        guard archive.writer?.isFull ?? false else { return }
        Messages(messages).warning(
            "the archive has more replies than are remembered: the same reply may be in it twice")
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

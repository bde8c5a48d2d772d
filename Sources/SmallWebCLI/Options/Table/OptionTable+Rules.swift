// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Rule {
    private static let files: [Option.ID] = [.output, .remoteName, .tree, .mirror]
    /// Options without effect where a body goes to standard output.
    static let aboutFiles: [Option.ID] = [
        .outputDir, .noClobber, .overwrite, .skipExisting, .ifChanged, .remoteTime, .createDirs,
    ]
    private static let inFiles = "bodies go to files, and a record names its file"
    private static let headAlone = "--head asks for no body"
    private static let onlyRecords = "exclude each other: only records go to standard output"

    /// True if each body has a file.
    private static func namesAllFiles(_ settings: Settings, _ operands: [String]) -> Bool {
        let (count, urls) = (
            settings.output.files.count, operands.count { URI.scheme(of: $0) != nil }
        )
        return settings.output.usesRemoteName || settings.crawl.mirror != nil
            || 1...max(1, count) ~= urls && count > 0 && settings.run.lists.isEmpty
                && !operands.contains(where: OperandSource.isList)
    }

    /// The first row that refuses says so.
    static let all: [Rule] = [
        // Two ways to decide the same.
        Rule(.rivals, [.proxy, .proxyCommand, .unixSocket]),
        Rule(.rivals, [.identity, .cert]),
        Rule(.rivals, [.ipv4, .ipv6]),
        Rule(.rivals, [.insecure, .trust]),
        Rule(.rivals, [.noClobber, .overwrite, .skipExisting, .ifChanged]),
        Rule(.rivals, [.continue, .continueAt]),
        Rule(.rivals, [.raw, .compressed]),
        Rule(
            .rivals, [.continue, .continueAt], [.timeCond, .etagCompare],
            hint: "the rest of a page is asked for only while the page is the same"),
        Rule(
            .rivals, [.unixSocket], [.connectTo, .resolve, .ipv4, .ipv6],
            hint: "a socket's path is the whole address"),
        Rule(.rivals, [.fail, .failWithBody], hint: "--fail is the default"),
        Rule(.rivals, [.progress, .progressBar]),
        Rule(.rivals, [.state, .name], hint: "--state is a file, --name is for one of smallweb's"),
        Rule(.rivals, [.config, .noConfig]),
        Rule(.rivals, [.json, .opml]),
        Rule(
            .rivals, [.crawl],
            [.diff, .links, .ignore, .every, .exec, .under, .state, .name, .inputFile],
            hint: "the state of a crawl has what its last round has found"),
        // The manual says which of them decides.
        Rule(.overrides, [.pin, .trust]),
        Rule(.overrides, [.pin, .insecure]),
        Rule(.overrides, [.raw, .render]),
        Rule(.overrides, [.continue, .continueAt], [.failWithBody]),
        Rule(.overrides, [.etagCompare, .timeCond]),
        Rule(.overrides, [.parallel, .jobs]),
        Rule(.overrides, [.head, .request]),
        Rule(.overrides, [.quiet, .verbose]),
        Rule(.overrides, [.silent, .verbose]),
        Rule(.overrides, [.tree], [.remoteName]),
        Rule(.overrides, [.head], [.showHeaders]),
        // Recordings.
        Rule(
            .rivals, [.cache, .offline], [.warc, .replay],
            "do not go together: the cache is an archive, too"),
        Rule(.without, [.maxAge], [.offline], hint: "--offline takes pages of any age"),
        Rule(
            .rivals, [.local], [.warc, .replay],
            hint: "a file makes no connection that could be recorded"),
        Rule(
            .rivals, [.fromDir], [.warc, .replay, .cache, .offline, .mirror],
            hint: "a directory makes no connection that could be recorded"),
        Rule(.with, [.remoteHeaderName], [.remoteName, .tree]),
        Rule(
            .rivals, [.remoteHeaderName], [.continue, .continueAt, .skipExisting, .ifChanged],
            hint: "the file's name is only known with the reply"),
        Rule(.with, [.warcSecrets], [.warc]),
        Rule(.with, [.failuresAfter], [.news]),
        Rule(.with, [.cacheSize], [.cache, .offline]),
        Rule(.with, [.noEmbedded], [.mirror, .check], "needs a --mirror or --check"),
        Rule(.with, [.maxAge], [], "needs a --cache, or --warc with --replay") { settings, _ in
            let archive = settings.archive
            return !archive.hasCache && (archive.file == nil || archive.replayed.isEmpty)
        },
        Rule(.with, [.replayLoose], [], "needs a --replay alone") { settings, _ in
            settings.archive.replayed.isEmpty || settings.archive.file != nil
        },
        Rule(.with, [.stopKnown], [.ledger], isForFiles: true),
        Rule(.with, [.only], [.ledger], isForFiles: true) { settings, _ in
            !settings.records.areOnlyLinks
        },
        Rule(.with, [.only], [.json], "links is about JSON records", hint: "add --json") {
            settings, _ in settings.records.areOnlyLinks
        },
        Rule(.with, [.only], [.withLinks], "links is for 'smallweb links', or --with-links") {
            settings, _ in
            settings.records.areOnlyLinks && settings.invocation.command?.name != "links"
        },
        Rule(
            .with, [.key], [.cert], "needs --cert", hint: "name the certificate as well",
            isForFiles: true),
        // Records, which have standard output for themselves.
        Rule(
            .with, [.fields, .inlineMax, .stream, .withLinks, .events, .ordered, .summary], [.json],
            "is about JSON records", hint: "add --json"),
        Rule(.with, [.body], [.json], "is about JSON records", hint: "add --json") {
            settings, _ in ![.none, .file].contains(settings.records.options.body)
        },
        Rule(.without, [.writeOut], [.json], onlyRecords, isForFiles: true),
        Rule(.without, [.output], [.json], onlyRecords) { settings, _ in
            settings.output.files.contains("-")
        },
        Rule(.without, [.dumpHeader], [.json], onlyRecords, isForFiles: true) { settings, _ in
            settings.output.headerFile == "-"
        },
        Rule(.without, [.showHeaders], [.json], hint: "a record has what the header says"),
        Rule(.without, [.hyperlink], [.json]),
        Rule(
            .rivals, [.render], [.stream], hint: "--stream writes bodies as they come"
        ) { settings, _ in
            settings.rendersAlways && settings.output.files.isEmpty
                && !settings.output.usesRemoteName && settings.records.options.body != .file
        },
        // Where there is no body, or where it goes to a file.
        Rule(
            .rivals, [.head],
            [
                .render, .hyperlink, .raw, .stream, .inlineMax, .withLinks, .failWithBody,
                .maxFilesize, .slice,
            ], hint: headAlone),
        Rule(.rivals, [.hyperlink], [.render], hint: "html and markdown have links of their own") {
            settings, _ in settings.output.rendering.markup != nil
        },
        Rule(.rivals, [.head], [.body], hint: headAlone) { settings, _ in
            settings.records.options.body != .none || !settings.records.areWanted
        },
        Rule(
            .rivals, [.body],
            [.showHeaders, .render, .hyperlink, .raw, .stream, .inlineMax, .failWithBody, .slice],
            hint: "--body none leaves the body out"
        ) { settings, _ in settings.records.options.body == .none },
        Rule(
            .rivals, [.slice], [.stream, .continue, .continueAt] + files,
            hint: "a part of a page goes to standard output or into its record"),
        Rule(.rivals, [.slice], [.render], hint: "it could be cut within a sequence of a terminal")
        {
            settings, _ in settings.output.rendering == .ansi
        },
        Rule(.rivals, [.slice], [.hyperlink]) { settings, _ in
            settings.output.hyperlinks == .always
        },
        Rule(
            .rivals, [.body], [.inlineMax, .slice], hint: "--body file writes all bodies to files"
        ) {
            settings, _ in settings.records.options.body == .file
        },
        Rule(.rivals, [.stream], [.inlineMax], hint: "--stream writes bodies of any size"),
        Rule(.rivals, files, [.inlineMax], hint: inFiles, if: namesAllFiles),
        Rule(.rivals, files, [.body], hint: inFiles) { settings, operands in
            [.text, .base64].contains(settings.records.options.body)
                && namesAllFiles(settings, operands)
        },
        Rule(.overrides, files, [.body]) { settings, _ in
            [.none, .file].contains(settings.records.options.body)
        },
        Rule(.rivals, [.render], [.continue, .continueAt]) { settings, _ in settings.rendersAlways
        },
    ]
}

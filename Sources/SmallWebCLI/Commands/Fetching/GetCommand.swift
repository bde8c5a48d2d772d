// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebArchive
internal import SmallWebRecords

/// `smallweb get URL…`: writes bodies to standard output in the order of the URLs, or to files;
/// with `--json` writes records.
struct GetCommand: Sendable {
    let settings: Settings
    let operands: [String]

    init(_ settings: Settings, _ operands: [String]) {
        self.operands = settings.named(operands) + settings.run.lists
        var settings = settings
        // The next run needs these fields of the ledger.
        if settings.run.ledger != nil {
            settings.records.options.fields?.formUnion(RecordFields.ofLedgers)
        }
        settings.leaveOutPrompts(isBulk: Self.hasList(self.operands))
        self.settings = settings
    }

    /// - Returns: The exit status: by default the first failing URL's.
    func run() throws(FetchError) -> Int32 {
        try check()
        return try FetchRun.run(settings, isInterruptible: isInterruptible, fetchAll)
    }

    private static func hasList(_ operands: [String]) -> Bool {
        operands.contains(where: OperandSource.isList)
    }

    /// - Throws: `usage` for operands that are neither URLs nor lists.
    static func check(_ operands: [String]) throws(FetchError) {
        guard !operands.isEmpty else {
            throw usageError("no URL", hint: "name one, such as gemini://geminiprotocol.net/")
        }
        guard !operands.contains("") else {
            throw usageError("an empty word instead of a URL", hint: "look for an unset variable")
        }
        guard !operands.contains("@") else { throw usageError("@ names no file") }
    }

    /// - Throws: `usage` for conflicting options and operands.
    func check() throws(FetchError) {
        try Self.check(operands)
        guard settings.output.files.count <= operands.count || Self.hasList(operands) else {
            throw usageError("more --output than URLs")
        }
        let (named, rest) = (settings.output.files.count, settings.usualDestination)
        if named > 0, rest == .standardOutput, Self.hasList(operands) || named < operands.count {
            try settings.note("further URLs go to standard output: each --output is for one")
        }
        if named == 0, rest == .standardOutput,
            let option = Rule.aboutFiles.first(where: settings.invocation.on.contains)
        {
            try settings.note(
                "--\(option.rawValue) is for files, as -O and -o write them: "
                    + "bodies go to standard output")
        }
        if let name = settings.fetch.missingFile {
            try settings.note("--time-cond: there is not a file \(name): everything is fetched")
        }
        for url in operands where url.contains("#") {
            if let hint = Advice.version(inFragmentOf: url, try settings.registry()) {
                throw usageError(
                    "what is behind # in \(URI.display(url)) would not be sent", hint: hint)
            }
        }
        if let file = settings.output.files.first(where: { $0.hasSuffix("gz") }) {
            let registry = try settings.registry()
            let url = operands.map { settings.url($0, registry) }.first(where: registry.isTar)
            if let url {
                throw usageError(
                    "\(file) would not be compressed", hint: Advice.compressedTar(url, file))
            }
        }
        if settings.output.tagFile != nil, operands.count > 1 || Self.hasList(operands) {
            throw usageError("--etag-save is for one URL", hint: Advice.manyTags)
        }
        let takesInput = settings.fetch.input == .file("-")
        let readers = operands.count { $0 == "-" || isInput($0) } + (takesInput ? 1 : 0)
        guard readers <= 1 else { throw usageError("standard input can be read only once") }
        if operands.contains("-") {
            Messages(settings.messages).promptToType("one URL per line")
        }
        try checkFiles()
    }

    private func isInput(_ url: String) -> Bool {
        settings.fetch.readsFiles && url == Registry.url(ofFile: "/dev/stdin")
    }

    /// True if a signal leaves something to clean up or to report: a file, a terminal, records.
    private var isInterruptible: Bool {
        let output = settings.output
        let writesFiles =
            !output.files.isEmpty || output.headerFile != nil || settings.configuration.hasSections
        return writesFiles || settings.usualDestination != .standardOutput
            || settings.run.ledger != nil || settings.archive.file != nil
            || settings.archive.hasCache
            || mayRunPrograms(settings)
            || Self.hasList(operands) || Messages.areSeen
    }

    /// True if child processes may have to be ended.
    private func mayRunPrograms(_ settings: Settings) -> Bool {
        settings.connection.proxies.runsCommand || !settings.connection.plugins.isEmpty
            || operands.contains { URI.scheme(of: $0).map { Registry.builtIn[$0] == nil } ?? false }
    }

    /// Fetches within a run that has begun.
    ///
    /// - Returns: The exit status.
    func fetchAll(
        _ settings: Settings, _ loop: EventLoop
    ) async throws(FetchError) -> Int32 {
        var settings = settings
        let fetcher = try settings.fetcher(loop)
        let jobs = settings.run.policy.jobs
        if jobs > 1 { settings.run.policy.jobs = min(jobs, Self.jobsMax()) }
        let headers = try settings.output.headerFile.map { name throws(FetchError) in
            try HeaderFile(name, Patience(seconds: settings.fetch.totalSeconds))
        }
        let context = RunContext(
            settings, fetcher, headers: headers,
            ledger: try settings.run.ledger.map { path throws(FetchError) in
                try LongWork.within(settings.fetch.totalSeconds, reading: path) {
                    () throws(FetchError) in try Ledger(path)
                }
            },
            isBulk: operands.count > 1 || Self.hasList(operands))
        let own = try settings.run.shard.map { shard throws(FetchError) in
            OwnShard(shard, try Places(fetcher.registry))
        }
        let source = OperandSource(operands, own, context.messages)
        let engine = context.engine(JobSource(source, context))
        // Prompt on this loop while others fetch.
        if context.policy.jobs > 1 && context.policy.loops != 1 { Prompt.ask(on: loop) }
        await context.run(engine) { engine.progress }
        let status = try context.conclude(engine, context.verdict(on: engine))
        try headers?.commit()
        return status
    }

    /// Limit of concurrent jobs by file descriptors: a socket and a file for a large body each.
    /// Raises the soft limit to the hard limit.
    private static func jobsMax() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 100
        }
        if limit.rlim_cur < limit.rlim_max {
            var most = limit
            most.rlim_cur = most.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &most) == 0 { limit = most }
        }
        return max(1, (Int(clamping: limit.rlim_cur) - 32) / 2)
    }
}

extension GetCommand {
    /// - Throws: `usage` for two options with the same file, as one would overwrite the other.
    func checkFiles() throws(FetchError) {
        let output = settings.output
        var files: [(option: String, path: String)] = []
        if let ledger = settings.run.ledger { files.append(("--ledger", ledger)) }
        files += settings.archive.paths
        if let path = output.headerFile, path != "-", path != "%" {
            files.append(("--dump-header", path))
        }
        let hasOthers = !files.isEmpty
        for (index, url) in operands.enumerated() {
            if index < output.files.count {
                let name = output.files[index]
                if name != "-" { files.append(("--output", output.place(of: name))) }
            } else if output.usesRemoteName, hasOthers, let uri = try? URI(parsing: url),
                // If the name depends on the reply, assume one without a name.
                let path = URLPlan(settings, to: .remoteName).path(of: uri, head: Head(.success))
            {
                files.append(("--remote-name", path))
            }
        }
        try settings.checkDistinct(files)
    }
}

extension Settings {
    /// - Parameter files: Files to read or write, besides the trust store.
    /// - Throws: `usage` for two options with the same file, as one would overwrite the other.
    func checkDistinct(_ files: [(option: String, path: String)]) throws(FetchError) {
        guard !files.isEmpty else { return }
        var files = files
        if let path = connection.knownHostsFile ?? UserFiles.knownHosts {
            files.append(("--known-hosts", path))
        }
        var known: [FileIdentity: String] = [:]
        for (option, path) in files {
            guard let identity = FileIdentity(path: path) else { continue }
            let other = known[identity] ?? option
            guard other == option else {
                throw usageError(
                    "\(other) and \(option) name the same file, \(path)",
                    hint: "name another file for one of them")
            }
            known[identity] = option
        }
    }
}

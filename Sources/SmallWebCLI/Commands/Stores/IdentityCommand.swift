// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let identity = Command(
        "identity [ACTION] …", taker: .configured, actions: IdentityCommand.actions)
}

struct IdentityCommand {
    let settings: Settings
    let store: IdentityStore

    init(_ settings: Settings) throws(FetchError) {
        self.settings = settings
        store = try IdentityStore(settings.registry())
    }

    fileprivate static let actions: [Command] = [
        .action(
            "list", options: ["json"]
        ) { settings, _ throws(FetchError) in try IdentityCommand(settings).list() },
        .action(
            "new NAME [URL]", operands: [.text, .url], options: ["key-type", "json"]
        ) { settings, words throws(FetchError) in
            try IdentityCommand(settings).make(words[0], for: words.dropFirst().first)
        },
        .action(
            "show NAME", operands: [.identity], options: ["json"]
        ) { settings, words throws(FetchError) in try IdentityCommand(settings).show(words[0]) },
        .action("use NAME URL", operands: [.identity, .url]) { settings, words throws(FetchError) in
            let command = try IdentityCommand(settings)
            _ = try command.store.pem(words[0])
            let scope = try command.scope(words[1])
            try command.store.change { $0.add(words[0], scope) }
        },
        .action(
            "unuse NAME [URL]", operands: [.identity, .url]
        ) { settings, words throws(FetchError) in
            try IdentityCommand(settings).unbind(words[0], from: words.dropFirst().first)
        },
        .action(
            "import [NAME] CERT [KEY]\nimport --from CLIENT PATH [DIR]", operands: [.file],
            options: ["from", "key-password-file", "input", "json"]
        ) { settings, words throws(FetchError) in try IdentityCommand(settings).bringIn(words) },
        .action("export NAME", operands: [.identity]) { settings, words throws(FetchError) in
            let command = try IdentityCommand(settings)
            try StandardStream.output.writeForeign(command.store.pem(words[0]))
        },
        .action(
            "remove NAME", operands: [.identity], options: ["force", "input"]
        ) { settings, words throws(FetchError) in try IdentityCommand(settings).remove(words[0]) },
    ]

    private func make(_ name: String, for url: String?) throws(FetchError) {
        // Checked first: a bad URL must not leave an identity without its scope.
        let scope = try url.map(scope)
        try store.make(name, settings.stores.keyType)
        if let scope { try store.change { $0.add(name, scope) } }
        try record(name)
    }

    private func unbind(_ name: String, from url: String?) throws(FetchError) {
        let scope = try url.map(scope)
        let bound = try store.bindings().scopes(of: name)
        let isKnown = try store.names().contains(name)
        guard !bound.isEmpty || isKnown else {
            _ = try store.pem(name)
            return
        }
        guard scope.map(bound.contains) ?? !bound.isEmpty else {
            let places = bound.map(\.description).joined(separator: " ")
            throw usageError(
                "\(name) is not bound to \(scope?.description ?? "any URL")",
                hint: bound.isEmpty
                    ? "'smallweb identity list' shows the bindings" : "to \(places)")
        }
        try store.change { $0.remove(name, scope: scope) }
    }

    private func remove(_ name: String) throws(FetchError) {
        _ = try store.pem(name)
        let places = try store.bindings().scopes(of: name).map(\.description)
        let use = places.isEmpty ? "" : ", bound to \(places.joined(separator: " "))"
        guard try settings.confirms("delete \(try store.path(name))\(use)?") else {
            throw usageError("\(name) was kept")
        }
        try store.remove(name)
    }

    private func list() throws(FetchError) {
        let bindings = try store.bindings()
        if settings.records.areWanted {
            for name in try store.names() { try record(name) }
            return
        }
        let names = try store.names()
        if names.isEmpty {
            try settings.note("no identities yet: 'smallweb identity new NAME' makes one")
        }
        var table = Columns(["NAME", "EXPIRES", "USED FOR"])
        let isTerminal = Environment.isTerminal(1)
        table.rows = names.map { name in
            let certificate = (try? store.entry(name, bindings))?.certificate
            let scopes = bindings.scopes(of: name).map(\.description)
            return [name, UTCDate.day(certificate?.notAfter, or: "-")]
                + (isTerminal ? [scopes.joined(separator: " ")] : scopes)
        }
        try table.write()
    }

    private func record(_ name: String) throws(FetchError) {
        guard settings.records.areWanted else { return }
        let entry = try store.entry(name, try store.bindings())
        try writeRecord { $0.members(of: entry) }
    }

    private func show(_ name: String) throws(FetchError) {
        if settings.records.areWanted { return try record(name) }
        let pem = try store.pem(name)
        let facts = try ClientIdentity.certificateFacts(pem)
        let lock = ClientIdentity.isEncrypted(pem) ? ", encrypted" : ""
        try StandardStream.output.writeForeign(
            """
            \(name)
            subject     \(TerminalText.escapeLine(facts.subject))
            valid       \(facts.validity(or: "unknown"))
            key         \(facts.keyName ?? "unknown")\(lock)
            certificate sha256:\(facts.sha256.hex)
            public key  sha256:\(facts.spkiSHA256.hex)

            """)
        for scope in try store.bindings().scopes(of: name) {
            try StandardStream.output.writeForeign("used for    \(scope)\n")
        }
    }

    // MARK: From elsewhere

    private func bringIn(_ operands: [String]) throws(FetchError) {
        guard let client = settings.stores.importClient else {
            let isNamed = operands.count > 2 || !Self.isFile(operands[0])
            let files = Array(isNamed ? operands.dropFirst() : operands[...])
            guard let certificate = files.first else {
                throw usageError(
                    "identity import wants [NAME] CERT [KEY], or --from CLIENT PATH",
                    hint: "there is not a file of the name \(operands[0])")
            }
            let foreign = ForeignIdentity(
                name: isNamed ? operands[0] : Self.name(of: certificate), certificate: certificate,
                key: files.count > 1 ? files[1] : nil, scopes: [])
            let name = foreign.name
            return try add(
                foreign, as: isNamed ? name : Bindings.freeName(name, taken: try store.names()))
        }
        let format: IdentityFormat = try OptionValue.choice(client, "--from")
        let found = try format.identities(
            in: operands[0], files: operands.count > 1 ? operands[1] : nil)
        guard !found.isEmpty else {
            throw FetchError(
                .read, .input, "there is no identity of \(client) in \(operands[0])")
        }
        var failures = 0
        for foreign in found {
            do throws(FetchError) {
                try add(foreign, as: Bindings.freeName(foreign.name, taken: try store.names()))
            } catch {
                failures += 1
                Messages(settings.messages).error(foreign.certificate, error)
            }
        }
        if settings.messages.showsNotes {
            try StandardStream.error.write("imported \(found.count - failures) of \(found.count)\n")
        }
        guard failures == 0 else {
            throw FetchError(.identityUnusable, .input, "some identities could not be imported")
        }
    }

    /// True for a file, which a bare word can only be where it is one.
    private static func isFile(_ operand: String) -> Bool {
        operand.utf8.contains { $0 == ASCII.slash || $0 == ASCII.dot }
            && FileOutput.isTaken(operand)
    }

    /// The name of a file without its directory and its ending.
    private static func name(of path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        return String(name.prefix { $0 != "." })
    }

    /// - Parameter url: Without a scheme, as in other clients, the default one is used.
    private func scope(_ url: String) throws(FetchError) -> Identities.Scope {
        let registry = try settings.registry()
        let scheme = url.hasPrefix("//") ? registry.schemeOfHosts.map { $0.name + ":" } : nil
        return try Identities.Scope((scheme ?? "") + url, in: registry)
    }

    private func add(_ foreign: ForeignIdentity, as name: String) throws(FetchError) {
        var pem = try InputSource.read("@" + foreign.certificate)
        if let key = foreign.key {
            if pem.last != ASCII.lineFeed { pem.append(ASCII.lineFeed) }
            pem += try InputSource.read("@" + key)
        }
        // Checked before the file is created, as in `make`.
        let scopes = try foreign.scopes.map(scope)
        _ = try settings.connection.load(pem, key: pem, settings.asker)
        try store.add(name, pem)
        try store.change { bindings in
            for scope in scopes { bindings.add(name, scope) }
        }
        try record(name)
    }
}

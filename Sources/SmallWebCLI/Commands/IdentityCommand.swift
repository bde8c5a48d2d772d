// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

extension Command {
    static let identity = Command(
        "identity ACTION …", "make client certificates, bind them to places",
        manual: "Makes and manages client certificates: list, new NAME [URL], show NAME, use NAME "
            + "URL, unuse NAME [URL], import NAME CERT [KEY], import --from CLIENT PATH, export "
            + "NAME and remove NAME. An identity is sent only to the URLs that it is bound to with "
            + "use, and to what lies below them, never after a redirect to another place. Where "
            + "two are bound, the narrower place wins. gemini and titan are one place. Identities "
            + "are PEM files that only you can read; their keys may be encrypted. With --json each "
            + "identity that is listed, shown, made or imported is a record.",
        examples: [
            ("smallweb identity new alice", "Make a client certificate"),
            ("smallweb identity use alice gemini://example.org/app", "Bind it to a place"),
            (
                "smallweb identity import --from lagrange ~/.config/lagrange/idents",
                "Take over those of another client"
            ),
        ],
        operands: [
            .choice(["list", "new", "show", "use", "unuse", "import", "export", "remove"]),
            .identity,
            .url,
        ],
        takes: {
            $0.isForAll || Option.ofConfiguration.contains($0.long)
                || ["from", "key-type", "key-password-file", "json", "input"].contains($0.long)
        }
    ) { settings, operands throws(FetchError) in
        try IdentityCommand(settings: settings, store: IdentityStore(Settings.plugins)).run(
            operands)
        return 0
    }
}

/// `smallweb identity`: client certificates, and the URLs that they are bound to.
struct IdentityCommand {
    let settings: Settings
    let store: IdentityStore

    func run(_ operands: [String]) throws(FetchError) {
        let rest = Array(operands.dropFirst())
        switch (operands.first, rest.count) {
        case (nil, _), ("list", 0): try list()
        case ("new", 1), ("new", 2):
            // Before the file is made: a bad URL must not leave an identity without its place.
            let scope = try rest.count == 2 ? scope(rest[1]) : nil
            let pem = try ClientIdentity.make(
                name: rest[0], type: settings.stores.keyType, now: UTCDate.now)
            try store.add(rest[0], pem)
            if let scope { try store.change { $0.add(rest[0], scope) } }
            try record(rest[0])
        case ("show", 1): try show(rest[0])
        case ("use", 2):
            _ = try store.pem(rest[0])
            let scope = try scope(rest[1])
            try store.change { $0.add(rest[0], scope) }
        case ("unuse", 1): try store.change { $0.remove(rest[0], scope: nil) }
        case ("unuse", 2):
            let scope = try scope(rest[1])
            try store.change { $0.remove(rest[0], scope: scope) }
        case ("import", 1), ("import", 2), ("import", 3): try bringIn(rest)
        case ("export", 1): try StandardStream.output.writeForeign(try store.pem(rest[0]))
        case ("remove", 1): try store.remove(rest[0])
        default:
            throw usageError(
                "smallweb identity does not know \"\(operands.joined(separator: " "))\"",
                hint: "list, new NAME [URL], show NAME, use NAME URL, unuse NAME [URL], import "
                    + "NAME CERT [KEY], import --from CLIENT PATH, export NAME, remove NAME")
        }
    }

    private func list() throws(FetchError) {
        let bindings = try store.bindings()
        if settings.records.areWanted {
            for name in store.names() { try record(name) }
            return
        }
        var table = Columns(["NAME", "USED FOR"])
        let isTerminal = Environment.isTerminal(1)
        table.rows = store.names().map { name in
            let scopes = bindings.scopes(of: name).map(\.description)
            return isTerminal ? [name, scopes.joined(separator: " ")] : [name] + scopes
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
        let day = { (time: Int?) in time.map(UTCDate.day) ?? "unknown" }
        let lock = ClientIdentity.isEncrypted(pem) ? ", encrypted" : ""
        try StandardStream.output.writeForeign(
            """
            \(name)
            subject     \(TerminalText.escapeLine(facts.subject))
            valid       \(day(facts.notBefore)) to \(day(facts.notAfter))
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
            guard operands.count > 1 else {
                throw usageError("import wants NAME CERT [KEY], or --from CLIENT PATH")
            }
            let foreign = ForeignIdentity(
                name: operands[0], certificate: operands[1],
                key: operands.count > 2 ? operands[2] : nil, scopes: [])
            try add(foreign, as: operands[0])
            return
        }
        guard let format = IdentityFormat(rawValue: client) else {
            throw usageError("--from wants one of \(IdentityFormat.names), not \"\(client)\"")
        }
        let found = try format.identities(
            in: operands[0], files: operands.count > 1 ? operands[1] : nil)
        guard !found.isEmpty else {
            throw FetchError(
                .read, .input, "there is no identity of \(client) in \(operands[0])")
        }
        var failures = 0
        for foreign in found {
            do throws(FetchError) {
                try add(foreign, as: foreign.freeName(store.names()))
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

    /// - Parameter url: Without a scheme, as other clients have it, it is of the default one.
    private func scope(_ url: String) throws(FetchError) -> Identities.Scope {
        let registry = Settings.plugins
        let scheme = url.hasPrefix("//") ? registry.schemeOfHosts.map { $0.name + ":" } : nil
        return try Identities.Scope((scheme ?? "") + url, in: registry)
    }

    /// The file is checked as a whole, as it will be used.
    private func add(_ foreign: ForeignIdentity, as name: String) throws(FetchError) {
        var pem = try ConnectionSettings.read(foreign.certificate)
        if let key = foreign.key {
            if pem.last != ASCII.lineFeed { pem.append(ASCII.lineFeed) }
            pem += try ConnectionSettings.read(key)
        }
        // Before the file is made, as for a new one.
        var scopes: [Identities.Scope] = []
        for scope in foreign.scopes { scopes.append(try self.scope(scope)) }
        _ = try settings.connection.load(pem, key: pem, settings.asker)
        try store.add(name, pem)
        let bound = scopes
        try store.change { bindings in
            for scope in bound { bindings.add(name, scope) }
        }
        try record(name)
    }
}

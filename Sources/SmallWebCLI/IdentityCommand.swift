// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

extension Command {
    static let identity = Command(
        name: "identity", synopsis: "identity ACTION …",
        summary: "make client certificates, bind them to places",
        manual: "Makes and manages client certificates: list, new, show, use, unuse, import, "
            + "export and remove. An identity is sent only to the URLs that it is bound to with "
            + "use, and to what lies below them, never after a redirect to another place.",
        examples: [
            ("smallweb identity new alice", "Make one"),
            ("smallweb identity use alice gemini://example.org/app", "Bind it to a place"),
        ],
        operands: [
            .choice(["list", "new", "show", "use", "unuse", "import", "export", "remove"]), .text,
        ],
        takes: { [.store, .messages].contains($0.group) }
    ) { settings, operands throws(FetchError) in
        try IdentityCommand(settings: settings, store: IdentityStore()).run(operands)
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
        case (nil, _), ("list", 0):
            let bindings = try store.bindings()
            for name in store.names() {
                let scopes = bindings.filter { $0.name == name }.map(\.scope.description)
                try StandardStream.output.write(([name] + scopes).joined(separator: "\t") + "\n")
            }
        case ("new", 1), ("new", 2):
            // Before the file is made: a bad URL must not leave an identity without its place.
            let scope = try rest.count == 2 ? Identities.Scope(rest[1]) : nil
            try store.add(rest[0], try ClientIdentity.make(name: rest[0], now: UTCDate.now))
            if let scope { try bind(rest[0], scope) }
        case ("show", 1): try show(rest[0])
        case ("use", 2):
            _ = try store.pem(rest[0])
            try bind(rest[0], try Identities.Scope(rest[1]))
        case ("unuse", 1):
            try store.save(try store.bindings().filter { $0.name != rest[0] })
        case ("unuse", 2):
            let scope = try Identities.Scope(rest[1])
            try store.save(
                try store.bindings().filter { $0.name != rest[0] || $0.scope != scope })
        case ("import", 2), ("import", 3):
            let certificate = try Settings.read(rest[1])
            let key = rest.count == 3 ? try Settings.read(rest[2]) : certificate
            _ = try settings.load(certificate, key: key)
            try store.add(rest[0], rest.count == 3 ? certificate + key : certificate)
        case ("export", 1): try StandardStream.output.write(try store.pem(rest[0])[...])
        case ("remove", 1): try store.remove(rest[0])
        default:
            throw usageError(
                "smallweb identity does not know \"\(operands.joined(separator: " "))\"",
                hint: "list, new NAME [URL], show NAME, use NAME URL, unuse NAME [URL], import "
                    + "NAME CERT [KEY], export NAME, remove NAME")
        }
    }

    private func bind(_ name: String, _ scope: Identities.Scope) throws(FetchError) {
        let others = try store.bindings().filter { $0.scope != scope }
        try store.save(others + [.init(name: name, scope: scope)])
    }

    private func show(_ name: String) throws(FetchError) {
        let pem = try store.pem(name)
        let facts = try settings.load(pem, key: pem).facts
        let day = { (time: Int?) in time.map(UTCDate.day) ?? "unknown" }
        try StandardStream.output.write(
            """
            \(name)
            subject     \(TerminalText.escapeLine(facts.subject))
            valid       \(day(facts.notBefore)) to \(day(facts.notAfter))
            certificate sha256:\(facts.sha256.hex)
            public key  sha256:\(facts.spkiSHA256.hex)

            """)
        for binding in try store.bindings() where binding.name == name {
            try StandardStream.output.write("used for    \(binding.scope)\n")
        }
    }
}

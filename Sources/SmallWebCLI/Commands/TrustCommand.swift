// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebTransport

extension Command {
    static let trust = Command(
        "trust ACTION …", "show and change the store of known keys",
        manual: "Shows and changes the store of known keys: list and show what is pinned, add, "
            + "replace and remove pins, check a server against them, import and export the "
            + "stores of other clients. check sends nothing and stores nothing; it exits with 0 "
            + "for a known key, 60 for an unknown server and 90 for a changed key. expiring lists "
            + "the certificates that end soon, for a monitor: it exits with 0 when there is none, "
            + "1 when there is one, and 2 when one has ended already. With --json each entry that "
            + "is listed, added or imported is a record.",
        examples: [
            ("smallweb trust list", "The keys that are pinned"),
            ("smallweb trust show geminiprotocol.net", "What is known of one host"),
            ("smallweb trust check geminiprotocol.net", "Whether its key is the known one"),
            ("smallweb trust expiring --within 14d", "For a monitor"),
        ],
        operands: [
            .choice([
                "list", "show", "add", "replace", "remove", "check", "import", "export",
                "expiring",
            ]), .knownHost,
        ],
        takes: {
            // To reach a server, and to say which key is meant.
            let others = [
                "json", "connect-timeout", "ipv4", "ipv6", "resolve", "pin", "known-hosts",
            ]
            return $0.isForAll || Option.ofConfiguration.contains($0.long)
                || others.contains($0.long)
                || Option.ofStores.contains($0.long) && $0.long != "key-type"
        }
    ) { settings, operands throws(FetchError) in
        try TrustCommand(settings: settings).run(operands)
    }
}

/// `smallweb trust`: the store of known keys, as commands.
struct TrustCommand: Sendable {
    let settings: Settings

    /// - Returns: 0, or for `expiring` what a monitor makes of it: 1 soon, 2 already.
    func run(_ operands: [String]) throws(FetchError) -> Int32 {
        let rest = Array(operands.dropFirst())
        switch (operands.first, rest.count) {
        case ("list", 0), (nil, _): try list(try hosts().pins)
        case ("show", 1): try show(place(rest[0]))
        case ("add", 1): try add(place(rest[0]))
        case ("replace", 1): try replace(place(rest[0]))
        case ("remove", 1): try remove(place(rest[0]))
        case ("check", 1): try probe(place(rest[0]), .locked)
        case ("import", 1): try importPins(rest[0])
        case ("export", 0): try export()
        case ("export", 1): try export(to: rest[0])
        case ("expiring", 0): return try expiring()
        default:
            throw usageError(
                "smallweb trust does not know \"\(operands.joined(separator: " "))\"",
                hint: "list, show HOST:PORT, add HOST:PORT [--pin HASH], replace HOST:PORT --pin "
                    + "HASH, remove HOST:PORT, check HOST:PORT, import --from CLIENT FILE, "
                    + "export --to CLIENT [DIR], expiring [--within 14d]")
        }
        return 0
    }

    private func store(_ policy: TrustPolicy = .tofu) throws(FetchError) -> TrustStore {
        TrustStore(path: try settings.connection.knownHosts(), policy: policy)
    }

    private func hosts() throws(FetchError) -> KnownHosts { try store().hosts() }

    /// A place, or the place of a URL.
    private func place(_ text: String) throws(FetchError) -> String {
        guard let home = Settings.plugins.schemeOfHosts else {
            throw usageError("\"\(text)\" has no scheme", hint: "write it as a URL")
        }
        let place: String?
        if text.contains("://") {
            let uri = try Fetcher.asciiHost(URI(parsing: text))
            let standard = try settings.registry()[uri.scheme]?.scheme ?? home
            place = uri.host.map {
                Endpoint(host: $0, port: uri.port ?? standard.defaultPort, security: .tls)
                    .description
            }
        } else if text.utf8.allSatisfy({ $0 < 0x80 }) {
            place = KnownHosts.place(text, port: home.defaultPort)
        } else {
            // An international name becomes what the store has.
            return try self.place("\(home.name)://\(text)")
        }
        guard let place else { throw usageError("\"\(text)\" is no HOST:PORT") }
        return place
    }

    private func change<Value: Sendable>(
        _ body: @escaping @Sendable (inout KnownHosts) throws(FetchError) -> Value
    ) throws(FetchError) -> Value {
        let (store, loop) = (try store(), try EventLoop())
        let result = loop.runToCompletion { () async -> Result<Value, FetchError> in
            do throws(FetchError) {
                return .success(try await store.change(loop: loop, body))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    // MARK: Actions

    private func list(_ pins: [KnownHosts.Pin]) throws(FetchError) {
        if settings.records.areWanted { return try record(pins) }
        var table = Columns(
            ["PLACE", "KIND", "HASH", "EXPIRES", "FIRST SEEN", "LAST SEEN"], last: 2)
        table.rows = pins.map(\.row)
        try table.write()
    }

    private func record(_ pins: [KnownHosts.Pin]) throws(FetchError) {
        guard settings.records.areWanted else { return }
        for pin in pins { try writeRecord { $0.members(of: pin) } }
    }

    private func known(_ place: String) throws(FetchError) -> [KnownHosts.Pin] {
        let pins = try hosts().pins(of: place)
        guard !pins.isEmpty else {
            throw FetchError(
                .untrusted, .input, "no key of \(place) is known",
                hint: "'smallweb trust list' shows those that are")
        }
        return pins
    }

    private func show(_ place: String) throws(FetchError) {
        let day = { (time: Int?) in time.map(UTCDate.day) ?? "unknown" }
        let pins = try known(place)
        if settings.records.areWanted { return try record(pins) }
        for pin in pins {
            let what = pin.kind == .key ? "public key" : "certificate"
            var text = """
                \(pin.place)
                \(what)  \(pin.digest)
                expires     \(day(pin.expires))
                first seen  \(day(pin.first))
                last seen   \(day(pin.last)), on \(pin.days) \(pin.days == 1 ? "day" : "days")
                known by    \(pin.via)

                """
            if let seen = pin.seenSHA256 { text += "certificate sha256:\(seen)\n" }
            try StandardStream.output.writeForeign(text)
        }
    }

    private func newPin(_ place: String, via: String) throws(FetchError) -> KnownHosts.Pin? {
        guard let digest = settings.connection.http.pin else { return nil }
        return KnownHosts.Pin(
            place: place, .key, .sha256, digest: digest.hex, first: UTCDate.now, via: via)
    }

    /// With `--pin` offline; without it the key that the server has now.
    private func add(_ place: String) throws(FetchError) {
        guard let pin = try newPin(place, via: "added") else { return try probe(place, .tofu) }
        try change { hosts throws(FetchError) in
            if !hosts.pins(of: place).contains(where: { $0.digest == pin.digest }) {
                hosts.add(pin)
            }
        }
        try record([pin])
    }

    private func replace(_ place: String) throws(FetchError) {
        guard let pin = try newPin(place, via: "replaced") else {
            throw usageError("replace needs the new key: --pin sha256:HEX")
        }
        try change { hosts throws(FetchError) in
            hosts.remove(place)
            hosts.add(pin)
        }
        try record([pin])
    }

    private func remove(_ place: String) throws(FetchError) {
        _ = try known(place)
        try change { hosts throws(FetchError) in _ = hosts.remove(place) }
    }

    /// Connects, judges and says so; sends nothing.
    private func probe(_ place: String, _ policy: TrustPolicy) throws(FetchError) {
        guard let colon = place.lastIndex(of: ":"),
            let port = UInt16(place[place.index(after: colon)...])
        else { throw usageError("\"\(place)\" is no HOST:PORT") }
        let host = place[..<colon].filter { $0 != "[" && $0 != "]" }
        var options = Fetcher.Options(trustStore: try store(policy))
        options.resolver.overrides = settings.connection.resolverOverrides
        options.resolver.family = settings.connection.family
        var limits = Limits()
        limits.connectSeconds = settings.fetch.connectSeconds
        let loop = try EventLoop()
        let fetcher = Fetcher(registry: .init(), options: options, loop: loop)
        let bounds = limits
        let check = loop.runToCompletion { () async -> TrustCheck in
            let endpoint = Endpoint(host: host, port: port, security: .tls)
            let (connection, error) = await fetcher.probe(endpoint, limits: bounds)
            return TrustCheck(place: place, connection: connection, error: error)
        }
        let notes = check.connection?.tls?.certificate.weaknesses(of: place) ?? []
        for note in notes { Messages(settings.messages).note(place, note) }
        if settings.records.areWanted { try writeRecord { $0.members(of: check) } }
        if let error = check.error { throw error }
        guard let connection = check.connection, let trust = connection.trust,
            let certificate = connection.tls?.certificate, !settings.records.areWanted
        else { return }
        try StandardStream.output.writeForeign(
            "\(place)\t\(trust.verdict.rawValue)\tsha256:\(certificate.spkiSHA256.hex)\n")
    }

    private func expiring() throws(FetchError) -> Int32 {
        let now = UTCDate.now
        let limit = now + Int(settings.stores.within)
        let pins = try hosts().pins.filter { ($0.expires ?? .max) < limit }
        try list(pins)
        return pins.isEmpty ? 0 : pins.contains { ($0.expires ?? .max) < now } ? 2 : 1
    }

    // MARK: Other clients

    private func importPins(_ path: String) throws(FetchError) {
        guard let format = settings.stores.importClient.flatMap(TrustFormat.init) else {
            throw usageError("import needs --from, one of \(TrustFormat.names)")
        }
        let text =
            format.isDirectory
            ? try DirectoryText.read(path)
            : String(decoding: try InputSource.read("@" + path), as: UTF8.self)
        guard !text.hasPrefix("SQLite format 3") else {
            throw usageError(
                "\(path) is a database, and smallweb reads text",
                hint: "sqlite3 -separator '|' \(path) 'select hostname, port, fingerprint from "
                    + "cert_cache' | smallweb trust import --from av-98 -")
        }
        let (pins, refused) = format.pins(in: text)
        let overwrites = settings.stores.replacesPins
        let added = try change { hosts throws(FetchError) in
            hosts.merge(pins, replacing: overwrites)
        }
        try record(added)
        if settings.messages.showsNotes {
            try StandardStream.error.write(
                "imported \(added.count), kept \(pins.count - added.count) that were known, "
                    + "could not read \(refused) lines\n")
        }
        guard refused == 0 || !pins.isEmpty else {
            throw FetchError(.read, .input, "\(path) holds no pin of \(format.rawValue)")
        }
    }

    /// - Parameter directory: Where a client's files go that keeps a directory of them.
    private func export(to directory: String? = nil) throws(FetchError) {
        guard let format = settings.stores.exportFormat else {
            throw usageError("export needs --to, one of \(TrustFormat.names)")
        }
        guard let (text, left) = format.text(of: try hosts().pins) else {
            throw usageError("the store of \(format.rawValue) is no text that could be written")
        }
        if let directory {
            guard format.isDirectory else {
                throw usageError(
                    "\(format.rawValue) keeps one file: send it where it belongs with >")
            }
            try DirectoryText.write(text, to: directory)
        } else {
            try StandardStream.output.writeForeign(text)
        }
        for place in left {
            try StandardStream.error.writeForeign(
                "smallweb: \(place): \(format.rawValue) cannot express this pin\n")
        }
    }
}

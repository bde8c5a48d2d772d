// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let trust = Command(
        "trust [ACTION] …", taker: .configured, options: ["known-hosts"],
        actions: TrustCommand.actions)
}

struct TrustCommand: Sendable {
    let settings: Settings

    init(_ settings: Settings) { self.settings = settings }

    private static let ofConnections =
        ["connect-timeout", "ipv4", "ipv6", "public-only", "resolve"] + Option.proxies.map(\.long)

    fileprivate static let actions: [Command] = [
        .action(
            "list", options: ["json"]
        ) { settings, _ throws(FetchError) in try TrustCommand(settings).list { _ in true } },
        .action(
            "show HOST[:PORT]", operands: [.knownHost], options: ["json"]
        ) { settings, words throws(FetchError) in try TrustCommand(settings).show(words[0]) },
        .action(
            "add HOST[:PORT] [--pin sha256:HEX]", operands: [.url],
            options: ["pin", "json"] + ofConnections
        ) { settings, words throws(FetchError) in try TrustCommand(settings).add(words[0]) },
        .action(
            "replace HOST[:PORT] [--pin sha256:HEX]", operands: [.knownHost],
            options: ["pin", "force", "input", "json"] + ofConnections
        ) { settings, words throws(FetchError) in try TrustCommand(settings).replace(words[0]) },
        .action(
            "remove HOST[:PORT]", operands: [.knownHost], options: ["json"]
        ) { settings, words throws(FetchError) in try TrustCommand(settings).remove(words[0]) },
        .action(
            "check HOST[:PORT]", operands: [.knownHost], options: ["json"] + ofConnections
        ) { settings, words throws(FetchError) in
            let command = TrustCommand(settings)
            try command.check(words[0])
        },
        .action(
            "import [--from CLIENT] FILE", operands: [.file], options: ["from", "replace", "json"]
        ) { settings, words throws(FetchError) in try TrustCommand(settings).importPins(words[0]) },
        .action(
            "export --to CLIENT [DIR]", operands: [.directory], options: ["to"]
        ) { settings, words throws(FetchError) in try TrustCommand(settings).export(to: words.first)
        },
        Command(
            "expiring [--within TIME] [HOST[:PORT]…]", operands: [.knownHost], taker: .others
        ) { settings, words throws(FetchError) in try TrustCommand(settings).expiring(words) }
        .with(\.optionNames, ["within", "json"]),
    ]

    private func store(_ policy: TrustStore.Policy = .tofu) throws(FetchError) -> TrustStore {
        TrustStore(path: try settings.connection.knownHosts(), policy: policy)
    }

    /// Normalizes `HOST:PORT`, or takes it from a URL.
    ///
    /// - Parameter isForKey: True if a key is to be stored: the URL's scheme must then use the
    ///   store.
    private func place(_ text: String, isForKey: Bool = false) throws(FetchError) -> String {
        let (registry, home) = (try settings.registry(), try home())
        let place: String?
        if text.contains(text: "://") {
            let uri = try URI(parsing: text).withASCIIHost()
            guard !isForKey || registry[uri.scheme]?.scheme.trust != .ca else {
                throw usageError(
                    "keys of \(uri.scheme) are checked by certificate authorities, not by "
                        + "this store",
                    hint: Advice.pinned(uri.display))
            }
            place = (registry[uri.scheme]?.scheme ?? home).endpoint(of: uri)?.description
        } else if text.utf8.allSatisfy({ $0 < 0x80 }) {
            place = KnownHosts.place(text, port: home.defaultPort)
        } else {
            // Converts an international name to its ASCII form, as in the store.
            return try self.place("\(home.name)://\(text)")
        }
        guard let place else { throw usageError("\"\(text)\" is not HOST:PORT") }
        return place
    }

    private func home() throws(FetchError) -> Scheme {
        guard let home = try settings.registry().schemeOfHosts else {
            throw usageError("no scheme has keys that are pinned", hint: "write a URL")
        }
        return home
    }

    private func change<Value: Sendable>(
        _ body: @escaping @Sendable (inout KnownHosts) throws(FetchError) -> Value
    ) throws(FetchError) -> Value {
        let (store, loop) = (try store(), try EventLoop())
        return try loop.runToEnd { () async throws(FetchError) in
            try await store.change(loop: loop, body)
        }
    }

    // MARK: Actions

    private func list(_ isWanted: (KnownHosts.Pin) -> Bool) throws(FetchError) {
        let store = try store()
        func forEach(_ body: (KnownHosts.Pin) throws(FetchError) -> Void) throws(FetchError) {
            try store.forEachPin { pin throws(FetchError) in if isWanted(pin) { try body(pin) } }
        }
        if settings.records.areWanted {
            return try forEach { pin throws(FetchError) in try record([pin]) }
        }
        let header = ["PLACE", "KIND", "HASH", "EXPIRES", "FIRST SEEN", "LAST SEEN"]
        try Columns(header, last: 2).write { body throws(FetchError) in
            try forEach { pin throws(FetchError) in
                try body(
                    [
                        pin.place, pin.kind.rawValue, pin.digest,
                    ] + [pin.expires, pin.first, pin.last].map { UTCDate.day($0, or: "-") })
            }
        }
    }

    private func record(_ pins: [KnownHosts.Pin]) throws(FetchError) {
        guard settings.records.areWanted else { return }
        for pin in pins { try writeRecord { $0.members(of: pin) } }
    }

    private func unknown(
        _ place: String, hint: String = "'smallweb trust list' shows those that are"
    ) -> FetchError {
        FetchError(.untrusted, .input, "no key of \(place) is known", hint: hint)
    }

    private func show(_ host: String) throws(FetchError) {
        let place = try place(host)
        let pins = try store().pins(of: place)
        guard !pins.isEmpty else { throw unknown(place) }
        try settings.write(pins) {
            $0.members(of: $1)
        } text: { pin in
            let what = pin.kind == .key ? "public key" : "certificate"
            var text = """
                \(pin.place)
                \(what)  \(pin.digest)
                expires     \(UTCDate.day(pin.expires, or: "unknown"))
                first seen  \(UTCDate.day(pin.first, or: "unknown"))
                last seen   \(Self.visits(pin))
                known by    \(pin.via)

                """
            if let seen = pin.seenSHA256 { text += "certificate sha256:\(seen)\n" }
            return text
        }
    }

    private static func visits(_ pin: KnownHosts.Pin) -> String {
        guard let last = pin.last else { return "not since it is known" }
        return "\(UTCDate.day(last)), on \(pin.days) \(pin.days == 1 ? "day" : "days")"
    }

    private func newPin(_ place: String, via: String) throws(FetchError) -> KnownHosts.Pin? {
        guard let digest = settings.connection.pin else { return nil }
        return KnownHosts.Pin(
            place: place, .key, .sha256, digest: digest.hex, first: UTCDate.now, via: via)
    }

    /// Adds the key of `--pin` without connecting; without it the server's present key.
    private func add(_ host: String) throws(FetchError) {
        let place = try place(host, isForKey: true)
        guard !place.hasSuffix(":0") else {
            throw usageError("\(place) is not HOST:PORT: a port is a number from 1 to 65535")
        }
        guard let pin = try newPin(place, via: "added") else {
            _ = try probe(place, store(.tofu))
            return
        }
        try change { hosts throws(FetchError) in
            if !hosts.pins(of: place).contains(where: { $0.digest == pin.digest }) {
                hosts.add(pin)
            }
        }
        try record([pin])
    }

    private func replace(_ host: String) throws(FetchError) {
        let place = try place(host, isForKey: true)
        let pin = try newPin(place, via: "replaced")
        guard try store().knows(place) else {
            let option = pin.map { " --pin \($0.digest)" } ?? ""
            throw unknown(place, hint: "to pin the first one: smallweb trust add \(place)\(option)")
        }
        guard let pin else {
            return try replaceByPresent(place)
        }
        try change { hosts throws(FetchError) in
            hosts.remove(place)
            hosts.add(pin)
        }
        try record([pin])
    }

    private func replaceByPresent(_ place: String) throws(FetchError) {
        let (isForced, asker) = (settings.stores.isForced, settings.asker)
        guard isForced || asker.canAsk else {
            throw usageError("cannot ask without a terminal", hint: Advice.replaced(place))
        }
        let isRefused = Locked(false)
        var store = try store(.ask)
        store.asksOnLoop = true
        store.asker = { question in
            let isWanted = isForced || asker.confirms(question.error)
            isRefused.withLock { $0 = !isWanted }
            return isWanted ? .always : .no
        }
        do throws(FetchError) {
            let key = try probe(place, store)
            try change { hosts throws(FetchError) in
                let kept = hosts.pins(of: place).filter { $0.digest == key }
                hosts.remove(place)
                kept.forEach { hosts.add($0) }
            }
        } catch {
            guard isRefused.withLock({ $0 }) else { throw error }
            throw FetchError(error.outcome, .input, "the known keys of \(place) stay as they are")
        }
    }

    private func remove(_ host: String) throws(FetchError) {
        let place = try place(host)
        let store = try store()
        let pins = try store.pins(of: place)
        guard try store.knows(place) else { throw unknown(place) }
        try change { hosts throws(FetchError) in _ = hosts.remove(place) }
        try record(pins)
    }

    private func check(_ host: String) throws(FetchError) {
        do throws(FetchError) {
            try probe(place(host), store(.locked))
        } catch {
            let scheme = try settings.registry()[URI.scheme(of: host) ?? ""]?.scheme
            guard scheme?.trust == .ca, case .addKey(_, let key)? = error.remedy else {
                throw error
            }
            // The plugin of a scheme with authorities ignores the store.
            var error = error
            error.hint = Advice.pinned("\(key)", of: host)
            throw error
        }
    }

    /// Connects, checks the key and prints the result; sends no request.
    ///
    /// - Returns: `sha256:HEX` of the server's key.
    @discardableResult
    private func probe(_ place: String, _ store: TrustStore) throws(FetchError) -> String? {
        let scheme = try home()
        // Only hosts valid in a URL: another could be taken for an option of the proxy command.
        let uri = try URI(parsing: "\(scheme.name)://\(place)/")
        guard let host = uri.host, let port = uri.port else {
            throw usageError("\"\(place)\" is not HOST:PORT")
        }
        var options = Fetcher.Options(trustStore: store)
        // Sections of the config file for the host apply here, too.
        let settings = try settings.configuration.applied(
            to: settings, for: uri.description)
        options.resolver.overrides = settings.connection.resolverOverrides
        options.resolver.family = settings.connection.family
        options.resolver.isPublicOnly = settings.connection.isPublicOnly
        options.proxies = try settings.connection.readProxies()
        var limits = Limits()
        settings.fetch.limit(&limits)
        let loop = try EventLoop()
        let fetcher = Fetcher(registry: .init(), options: options, loop: loop)
        let bounds = limits
        let check = loop.runToCompletion { () async -> TrustCheck in
            let endpoint = Endpoint(host: host, port: port, security: .tls)
            let (connection, error) = await fetcher.probe(endpoint, of: scheme, limits: bounds)
            return TrustCheck(place: place, connection: connection, error: error)
        }
        let notes = check.connection?.tls?.certificate.weaknesses(of: place) ?? []
        for note in notes { Messages(settings.messages).note(place, note) }
        if settings.records.areWanted { try writeRecord { $0.members(of: check) } }
        if let error = check.error { throw error }
        let key = check.connection?.tls.map { "sha256:" + $0.certificate.spkiSHA256.hex }
        if let key, let trust = check.connection?.trust, !settings.records.areWanted {
            try StandardStream.output.writeForeign(
                "\(place)\t\(trust.verdict.rawValue)\t\(key)\n")
        }
        return key
    }

    /// - Throws: `untrusted` for a host whose key is not known.
    private func expiring(_ hosts: [String]) throws(FetchError) -> Int32 {
        let places = try hosts.map { host throws(FetchError) in try place(host) }
        for (host, place) in zip(hosts, places) where try !store().knows(place) {
            let url = host.contains(text: "://") ? host : try "\(home().name)://\(host)/"
            throw unknown(place, hint: "'smallweb head \(url)' says when it ends")
        }
        let now = UTCDate.now
        let limit = now + Int(settings.stores.within)
        var status: Int32 = 0
        var unknown = 0
        try list { pin in
            guard places.isEmpty || places.contains(pin.place) else { return false }
            guard let expires = pin.expires else {
                unknown += 1
                return false
            }
            guard expires < limit else { return false }
            status = max(status, expires < now ? 2 : 1)
            return true
        }
        if unknown > 0, settings.messages.showsNotes {
            try StandardStream.error.write(
                "note: of \(unknown) \(unknown == 1 ? "key" : "keys") the certificate's end is not "
                    + "known before the next fetch\n")
        }
        return status
    }

    // MARK: Other clients

    private func importPins(_ path: String) throws(FetchError) {
        let named = try settings.stores.importClient.map { name throws(FetchError) -> TrustFormat in
            try OptionValue.choice(name, "--from")
        }
        let isDirectory = named?.isDirectory ?? (fileKind(path) == S_IFDIR)
        let text =
            isDirectory
            ? try UserFiles.text(ofDirectory: path)
            : String(decoding: try InputSource.read("@" + path), as: UTF8.self)
        guard !text.hasPrefix("SQLite format 3") else {
            throw usageError(
                "\(path) is a database, and smallweb reads text",
                hint: Advice.keyDatabase(path))
        }
        guard let format = named ?? TrustFormat.recognised(text, isDirectory: isDirectory) else {
            throw usageError(
                "\(path) does not say whose it is: trust import wants --from, one of "
                    + TrustFormat.names)
        }
        let (pins, refused) = format.pins(in: text)
        let overwrites = settings.stores.replacesPins
        let added = try change { hosts throws(FetchError) in
            hosts.merge(pins, replacing: overwrites)
        }
        try record(added)
        if settings.messages.showsNotes {
            try StandardStream.error.write(
                (named == nil ? "from \(format.rawValue): " : "")
                    + "imported \(added.count), kept \(pins.count - added.count) that were known, "
                    + "could not read \(refused) lines\n")
        }
        guard refused == 0 || !pins.isEmpty else {
            throw FetchError(.read, .input, "\(path) holds no pin of \(format.rawValue)")
        }
    }

    /// - Parameter directory: Destination for clients that keep a directory of files.
    private func export(to directory: String?) throws(FetchError) {
        guard let format = settings.stores.exportFormat else {
            throw usageError("trust export wants --to, one of \(TrustFormat.names)")
        }
        let pins = try store().hosts().pins
        guard let (text, left) = format.text(of: pins) else {
            throw usageError("the store of \(format.rawValue) cannot be written as text")
        }
        guard directory == nil || format.isDirectory else {
            throw usageError(
                "\(format.rawValue) keeps one file: send it where it belongs with >")
        }
        for (place, why) in left {
            try StandardStream.error.writeForeign(
                "smallweb: \(place): \(format.rawValue) \(why)\n")
        }
        guard pins.isEmpty || left.count < pins.count else {
            throw FetchError(
                .write, .output, "no key can be written for \(format.rawValue)",
                hint: "fetch from these hosts once more, or choose another client")
        }
        if let directory {
            try UserFiles.write(text, toDirectory: directory)
        } else {
            try StandardStream.output.writeForeign(text)
        }
    }
}

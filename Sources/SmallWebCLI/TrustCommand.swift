// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebTransport

extension Command {
    static let trust = Command(
        name: "trust", synopsis: "trust ACTION …",
        summary: "show and change the store of known keys",
        manual: "Shows and changes the store of known keys: list and show what is pinned, add, "
            + "replace and remove pins, check a server against them, import and export the "
            + "stores of other clients, and find certificates that end soon with expiring, whose "
            + "exit status is 1 when there are any and 2 when one has ended.",
        examples: [
            ("smallweb trust list", "What is pinned"),
            ("smallweb trust show geminiprotocol.net", "What is known of one host"),
            ("smallweb trust expiring --within 14d", "For a monitor"),
        ],
        operands: [
            .choice([
                "list", "show", "add", "replace", "remove", "check", "import", "export",
                "expiring",
            ]), .text,
        ],
        takes: { [.store, .connection, .limits, .messages].contains($0.group) }
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
        case ("expiring", 0): return try expiring()
        default:
            throw usageError(
                "smallweb trust does not know \"\(operands.joined(separator: " "))\"",
                hint: "list, show HOST:PORT, add HOST:PORT [--pin HASH], replace HOST:PORT --pin "
                    + "HASH, remove HOST:PORT, check HOST:PORT, import --from CLIENT FILE, "
                    + "export --to CLIENT, expiring [--within 14d]")
        }
        return 0
    }

    private func store(_ policy: TrustPolicy = .tofu) throws(FetchError) -> TrustStore {
        TrustStore(path: try Environment.knownHosts(), policy: policy)
    }

    private func hosts() throws(FetchError) -> KnownHosts { try store().hosts() }

    /// A place, or the place of a URL.
    private func place(_ text: String) throws(FetchError) -> String {
        let place: String?
        if text.contains("://") {
            let uri = try URI(parsing: text)
            let standard = try settings.registry()[uri.scheme]?.scheme.defaultPort
            let port = uri.port ?? standard
            place = KnownHosts.place(
                Endpoint(host: uri.host ?? "", port: port ?? 1965, security: .tls).description,
                port: 1965)
        } else {
            place = KnownHosts.place(text, port: 1965)
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
        let day = { (time: Int?) in time.map(UTCDate.day) ?? "-" }
        let rows = pins.map {
            [$0.place, $0.kind.rawValue, $0.digest, day($0.expires), day($0.first), day($0.last)]
        }
        let width = rows.map { $0[0].count }.max() ?? 0
        for row in rows {
            // Columns for a person, tabs for `cut`.
            let line =
                Environment.isTerminal(1)
                ? Help.padded(row[0], width) + "  " + row.dropFirst().joined(separator: "  ")
                : row.joined(separator: "\t")
            try StandardStream.output.write(line + "\n")
        }
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
        for pin in try known(place) {
            let what = pin.kind == .key ? "public key" : "certificate"
            var text = """
                \(pin.place)
                \(what)  \(pin.digest)
                expires     \(day(pin.expires))
                first seen  \(day(pin.first))
                last seen   \(day(pin.last)), on \(pin.days) days
                known by    \(pin.via)

                """
            if let seen = pin.seenSHA256 { text += "certificate sha256:\(seen)\n" }
            try StandardStream.output.write(text)
        }
    }

    private func newPin(_ place: String, via: String) throws(FetchError) -> KnownHosts.Pin? {
        guard let digest = settings.connection.pin else { return nil }
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
    }

    private func replace(_ place: String) throws(FetchError) {
        guard let pin = try newPin(place, via: "replaced") else {
            throw usageError("replace needs the new key: --pin sha256:HEX")
        }
        try change { hosts throws(FetchError) in
            hosts.remove(place)
            hosts.add(pin)
        }
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
        options.resolver.overrides = settings.resolverOverrides
        options.resolver.family = settings.family
        var limits = Limits()
        limits.connectSeconds = settings.connectSeconds
        let loop = try EventLoop()
        let fetcher = Fetcher(registry: .init(), options: options, loop: loop)
        let bounds = limits
        let result = loop.runToCompletion { () async -> Result<Connection?, FetchError> in
            do throws(FetchError) {
                let endpoint = Endpoint(host: host, port: port, security: .tls)
                return .success(try await fetcher.probe(endpoint, limits: bounds))
            } catch {
                return .failure(error)
            }
        }
        guard let connection = try result.get(), let trust = connection.trust,
            let certificate = connection.tls?.certificate
        else { return }
        try StandardStream.output.write(
            "\(place)\t\(trust.verdict.rawValue)\tsha256:\(certificate.spkiSHA256.hex)\n")
    }

    private func expiring() throws(FetchError) -> Int32 {
        let now = UTCDate.now
        let limit = now + Int(settings.within)
        let pins = try hosts().pins.filter { ($0.expires ?? .max) < limit }
        try list(pins)
        return pins.isEmpty ? 0 : pins.contains { ($0.expires ?? .max) < now } ? 2 : 1
    }

    // MARK: Other clients

    private func importPins(_ path: String) throws(FetchError) {
        guard let format = settings.importFormat else {
            throw usageError("import needs --from, one of \(Settings.formatNames)")
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
        let overwrites = settings.replacesPins
        let (added, kept) = try change { hosts throws(FetchError) -> (Int, Int) in
            var (added, kept) = (0, 0)
            let before = hosts
            for pin in pins {
                if before.pins(of: pin.place).isEmpty || overwrites {
                    if overwrites { hosts.remove(pin.place) }
                    hosts.add(pin)
                    added += 1
                } else {
                    kept += 1
                }
            }
            return (added, kept)
        }
        try StandardStream.error.write(
            "imported \(added), kept \(kept) that were known, could not read \(refused) lines\n")
        guard refused == 0 || added + kept > 0 else {
            throw FetchError(.read, .input, "\(path) holds no pin of \(format.rawValue)")
        }
    }

    private func export() throws(FetchError) {
        guard let format = settings.exportFormat else {
            throw usageError("export needs --to, one of \(Settings.formatNames)")
        }
        guard let (text, left) = format.text(of: try hosts().pins) else {
            throw usageError("the store of \(format.rawValue) is no text that could be written")
        }
        try StandardStream.output.write(text)
        for place in left {
            try StandardStream.error.write(
                "smallweb: \(place): \(format.rawValue) cannot express this pin\n")
        }
    }
}

/// A directory of small files as text: `PATH<TAB>first line`.
enum DirectoryText {
    static func read(_ path: String, depth: Int = 0) throws(FetchError) -> String {
        guard let directory = opendir(path) else {
            let error = SystemError(number: errno)
            throw FetchError(
                .read, .input, "cannot read \(path): \(error.sentence)", errnoName: error.name)
        }
        defer { closedir(directory) }
        var text = ""
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(".") { continue }
            let child = path + "/" + name
            var status = stat()
            guard stat(child, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR {
                if depth < 4 { text += try read(child, depth: depth + 1) }
            } else {
                let content = String(decoding: try InputSource.read("@" + child), as: UTF8.self)
                let line = content.split(whereSeparator: \.isNewline).first ?? ""
                text += "\(child)\t\(line)\n"
            }
        }
        return text
    }
}

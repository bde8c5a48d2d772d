// SPDX-License-Identifier: MIT
package import SmallWeb

extension Registry.Entry {
    /// `builtin:` or `program:`, and the plugin's own name.
    package var pluginName: String {
        (handler.programVersion == nil ? "builtin:" : "program:") + scheme.plugin
    }
}

extension JSONWriter {
    /// Begins a record of a request.
    package mutating func begin(_ type: String, _ subject: RecordSubject) {
        begin(type)
        member("n", subject.n)
        member("id") { $0.raw(subject.id[...]) }
        if let tag = subject.tag { member("tag") { $0.raw(tag[...]) } }
    }

    /// Begins a record that belongs to no request.
    package mutating func begin(_ type: String) {
        member("type", type)
        member("v", Recorder.version)
    }

    /// A URL without its password: records are kept, and shown to others.
    package mutating func member(_ name: StaticString, url: URI?) { member(name, url?.display) }

    /// - Parameter skipped: Counts by reason, for a crawl, in place of one.
    package mutating func members(
        of tally: Tally, exit: Int32, skipped: [String: Int]? = nil
    ) {
        begin("summary")
        member("requests", tally.requests)
        member("ok", tally.ok)
        member("failed", tally.requests - tally.ok)
        if let skipped {
            member("skipped", object: skipped) { writer, skipped in
                for (reason, count) in skipped.sorted(by: { $0.key < $1.key }) {
                    writer.member(named: reason) { $0.value(count) }
                }
            }
        } else {
            member("skipped", tally.skipped)
        }
        member("bytes", tally.bytes)
        member("time", object: Instant.now.seconds(since: tally.started)) {
            $0.member("total", seconds: $1)
        }
        member("exit", Int(exit))
        member("by_exit", object: tally.exits) { writer, exits in
            for (exit, count) in exits.enumerated() where count > 0 {
                writer.member(named: "\(exit)") { $0.value(count) }
            }
        }
    }

    package mutating func members(of scheme: Scheme) {
        begin("scheme")
        member("name", scheme.name)
        member("port", Int(scheme.defaultPort))
        member("transport", scheme.transport.rawValue)
        member("trust", scheme.trust.rawValue)
        member("takes_input", scheme.input != nil)
        member("secure_form", scheme.secureForm)
        member("summary", scheme.summary)
    }

    package mutating func members(of redirect: Ending.Redirect) {
        member("status", redirect.status)
        member("from", url: redirect.from)
        member("to", url: redirect.to)
        member("permanent", redirect.isPermanent)
    }

    /// The members of the record `link`, without its index in the page.
    package mutating func members(of link: Link, base: URI) {
        member("url", url: link.uri)
        member("page", url: base)
        member(named: "raw", bytes: link.raw)
        member(named: "text", bytes: link.text)
        member("scheme", link.uri?.scheme)
        member("kind", link.kind.rawValue)
        member("line", link.line)
        member("same_host", link.uri.map { $0.host == base.host })
        if !link.element.isEmpty {
            member("element", link.element)
            member(named: "rel", bytes: link.rel)
        }
        var facts = link.facts
        // A directory of Git has a fact `kind`, too: its entry's.
        for name in ["url", "raw", "text", "scheme", "kind", "line"] { facts[name] = nil }
        members(of: facts)
    }

    package mutating func members(of warnings: [Note]) {
        member("warnings", array: warnings) { writer, note in
            writer.object { $0.members(of: note) }
        }
    }

    package mutating func members(of note: Note) {
        member("code", note.code)
        member("message", note.message)
    }

    /// `headers`: each name once, in lower case, with its values in order.
    package mutating func members(of fields: Head.Fields) {
        // There are a dozen, and never more than a few hundred: searched in turn.
        var named: [(name: String, values: [String])] = []
        for field in fields.all {
            let name = field.name.lowercased()
            if let index = named.firstIndex(where: { $0.name == name }) {
                named[index].values.append(field.value)
            } else {
                named.append((name, [field.value]))
            }
        }
        member("headers", object: named) { writer, named in
            for field in named {
                // A name, too, can be anything that a server sends.
                writer.member(named: field.name) { $0.array(field.values) { $0.value($1) } }
            }
        }
        if String(validating: fields.bytes, as: UTF8.self) == nil {
            member("headers_base64") { $0.value(base64: fields.bytes) }
        }
    }

    /// `remote`, `tls` and `trust`.
    ///
    /// - Parameter change: The error for a refused key.
    package mutating func members(
        of connection: Connection?, isOverTLS: Bool, ending: Ending?, change: FetchError?
    ) {
        member("remote", object: connection) { writer, connection in
            writer.member("ip", connection.address)
            writer.member("port", Int(connection.port))
            writer.member("proxy", connection.proxy)
        }
        let trust = connection?.trust
        let isChange = trust?.verdict == .changed && change != nil
        member("tls", object: connection?.tls) { writer, facts in
            writer.member("version", facts.version)
            writer.member("cipher", facts.cipher)
            writer.member("alpn", facts.applicationProtocol)
            writer.member("sni", facts.serverName)
            writer.member("resumed", facts.isResumed)
            writer.member("close_notify", isOverTLS ? Self.closeNotify(ending) : nil)
            writer.member(
                "verify", change != nil ? "failed" : trust.map { Self.verification($0.verdict) })
            writer.member("cert", object: facts.certificate) { $0.members(of: $1) }
            writer.member("chain_length", facts.chainLength)
            writer.member("client_cert", facts.shownIdentity.map { "sha256:" + $0.hex })
        }
        member("trust", object: trust) { writer, trust in
            writer.member("policy", trust.policy.rawValue)
            writer.member("verdict", trust.verdict.rawValue)
            writer.member("first_seen", trust.firstSeen.map(UTCDate.second))
            writer.member("previous", isChange ? change?.expected : nil)
        }
    }

    package mutating func members(of certificate: Connection.Certificate) {
        member("sha256", certificate.sha256.hex)
        member("spki_sha256", certificate.spkiSHA256.hex)
        member("subject", certificate.subject)
        member("issuer", certificate.issuer)
        let sign = certificate.isSerialNegative ? "-" : ""
        member("serial", certificate.serial.map { sign + $0.hex })
        member("not_before", certificate.notBefore.map(UTCDate.second))
        member("not_after", certificate.notAfter.map(UTCDate.second))
        member("dns_names", array: certificate.dnsNames) { $0.value($1) }
        member("ip_names", array: certificate.ipNames) { $0.value($1) }
        member("self_signed", certificate.subject == certificate.issuer)
        member("key", certificate.keyName)
    }

    /// `nil` for HTTP, which has lengths, and reports no `close_notify`.
    private static func closeNotify(_ ending: Ending?) -> Bool? {
        guard let ending else { return nil }
        return ending.completeness == .complete ? true : ending.outcome == .truncated ? false : nil
    }

    private static func verification(_ verdict: Connection.Trust.Verdict) -> String {
        switch verdict {
        case .firstUse: "tofu-first"
        case .match: "tofu-match"
        case .renewed: "tofu-renewed"
        case .changed: "tofu-changed"
        case .refused: "failed"
        case .skipped: "skipped"
        case .ca: "ca"
        case .pinned: "pinned"
        }
    }
}

/// The members that `--fields` may name.
package enum RecordFields {
    package static func all(_ registry: Registry) -> [String] {
        (ofEveryProtocol + Set(registry.schemes.flatMap(\.factNames))).sorted()
    }

    private static let ofEveryProtocol = [
        "attempts", "body", "bytes", "change", "charset", "class", "date", "error", "exit",
        "final_url",
        "headers", "lang", "links", "meta", "mime", "mime_source", "ok", "outcome", "partial",
        "plugin", "program", "recorded", "redirects", "refs", "remote", "retry_after", "scheme",
        "size", "stale", "status", "time", "tls", "trust", "unchanged", "url", "url_input",
        "version", "warnings",
    ]
    /// Members of links that no other record has.
    private static let ofLinks: Set<String> = [
        "element", "i", "kind", "line", "page", "raw", "rel", "same_host", "text",
    ]
    private static let ofOtherRecords: Set<String> = [
        "base64", "name", "offset", "oid", "peeled", "seq",
    ]
    /// Members that a ledger needs to identify and order URLs.
    package static let ofLedgers = ["outcome", "time", "url"]
    /// Always written, to tell records apart.
    static let common = ["type", "v", "n", "id", "tag"]

    /// The members of records of links: all, unless one that only they have is asked for.
    static func wanted(_ fields: Set<String>?) -> Set<String>? {
        fields.flatMap { $0.isDisjoint(with: ofLinks) ? nil : $0 }
    }

    /// - Throws: `usage` for an unknown name, with the nearest one.
    package static func parse(
        _ list: String, _ registry: Registry
    ) throws(FetchError) -> Set<String> {
        let all = all(registry)
        var names = Set(common)
        for name in list.split(separator: ",").map(String.init) {
            guard all.contains(name) || common.contains(name) || ofLinks.contains(name) else {
                guard !ofOtherRecords.contains(name) else {
                    throw usageError(
                        "\"\(name)\" is not a field of a URL's own record",
                        hint: "records of references and chunks have all of theirs")
                }
                throw usageError(
                    "unknown field \"\(name)\"",
                    hint: Nearest.question(name, among: all)
                        ?? "the fields are \(all.joined(separator: ","))")
            }
            names.insert(name)
            if ["headers", "meta", "raw", "text", "url"].contains(name) {
                names.insert(name + "_base64")
            }
        }
        return names
    }
}

// SPDX-License-Identifier: MIT
internal import SmallWebCore

extension ManifestReader {
    /// The members of a scheme besides `name` and `summary`.
    static let ofScheme = [
        "port", "transport", "trust", "path", "input", "upload", "resume", "mime", "secure_form",
        "identities", "server_first", "query", "host", "udp_peer", "crawl",
    ]

    static func scheme(
        _ reader: ManifestReader, plugin: String, _ summary: String
    ) throws(FetchError) -> (Scheme, Manifest.SchemeFacts) {
        var reader = reader
        try reader.refuseOthers(than: ["name", "summary"] + ofScheme)
        let name = try reader.name("name")
        let word = try reader.word("transport", of: "tcp", "tls", "udp", "none")
        guard let transport = word.flatMap(Scheme.Transport.init) else {
            throw reader.missing("transport")
        }
        let ports = transport == .none ? 0...65_535 : 1...65_535
        guard let port = try reader.number("port", in: ports) else {
            throw reader.missing("port")
        }
        let (host, trust, peer) = try words(of: &reader, over: transport)
        let pathForm = try reader.word("path", of: "hierarchical", "opaque")
        let takesInput = try reader.flag("input")
        let uploads = try reader.flag("upload")
        let canResume = try reader.flag("resume")
        let secureForm = try reader.text("secure_form")
        let identities = try reader.flag("identities")
        let crawling = try reader.object("crawl").map { crawl throws(FetchError) in
            try Self.crawling(crawl)
        }
        let facts = Manifest.SchemeFacts(
            mediaType: try reader.text("mime"),
            isServerFirst: try reader.flag("server_first"),
            keepsQueryEncoded: try reader.word("query", of: "refused", "encoded") == "encoded",
            acceptsAnyPort: peer == "host", asksAuthorities: trust == "ca")
        if let mime = facts.mediaType, MediaType(parsing: mime) == nil {
            throw reader.mistake(in: "mime", "that is not a media type")
        }
        let scheme = Scheme(
            name, plugin: plugin, port: UInt16(port), transport: transport,
            summary: try reader.text("summary") ?? summary
        ) {
            $0.trust = transport == .tls ? trust.flatMap(Scheme.Trust.init) ?? .tofu : .none
            $0.pathForm = pathForm.flatMap(Scheme.PathForm.init) ?? .hierarchical
            $0.input = takesInput ? .body : nil
            $0.canResume = canResume
            $0.hostForm =
                host.flatMap(Scheme.HostForm.init)
                ?? (transport == .none ? .optional : .required)
            if uploads {
                $0.uploads = .init(
                    isOnlyUse: false, mediaType: facts.mediaType ?? "application/octet-stream",
                    replySchemes: [])
            }
            $0.secureForm = secureForm
            $0.crawling = crawling
            $0.identityScheme = identities ? name : nil
            $0.factNames = [plugin]
            $0.canUseProxy = transport != .udp
        }
        return (scheme, facts)
    }

    /// The words that not every transport allows.
    private static func words(
        of reader: inout ManifestReader, over transport: Scheme.Transport
    ) throws(FetchError) -> (host: String?, trust: String?, peer: String?) {
        let host = try reader.word("host", of: "required", "optional", "verbatim")
        guard host == nil || host == "required" || transport == .none else {
            throw reader.mistake(in: "host", "that is not required, but a transport")
        }
        let trust = try reader.word("trust", of: "tofu", "ca")
        guard trust == nil || transport == .tls || transport == .tcp else {
            throw problem("has a \"\(reader.path("trust"))\", but no TLS")
        }
        let peer = try reader.word("udp_peer", of: "port", "host")
        guard peer == nil || transport == .udp else {
            throw problem("has a \"\(reader.path("udp_peer"))\", but no datagrams")
        }
        return (host, trust, peer)
    }
}

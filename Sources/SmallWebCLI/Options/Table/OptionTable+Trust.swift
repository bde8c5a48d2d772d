// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

extension Option {
    static let trust: [Option] = [
        Option(
            .trust, .connection, "check keys by tofu, ca, both, locked or ask",
            manual: "The check of a server's key over TLS, before a request is sent. tofu pins it "
                + "at the first visit and requires it afterwards. ca requires the signature of a "
                + "certificate authority, the name and the dates, and stores nothing. both "
                + "requires both. locked accepts only keys that the store has, and stores "
                + "nothing. ask is tofu, but asks you about every new key. Without TLS there is "
                + "no key to check: ca, both and locked are refused there (exit status 2), and "
                + "ignored with a note if they come from a config file. The default is tofu, ca "
                + "where a plugin's manifest says so, and for HTTP, which has no other.",
            example: "smallweb get --trust locked gemini://geminiprotocol.net/",
            .value("POLICY", OptionValue.trust) { $0.connection.trust = $1 }
        ).with(\.values, .oneOf { TrustStore.Policy.names }),
        Option(
            .pin, .connection, "the server's key must be sha256:HEX",
            manual: "The SHA-256 of the public key (SPKI) that the server must have. It "
                + "overrides every other check. Outside HTTP it can be the SHA-256 of the whole "
                + "certificate. Nothing is stored.",
            example: "smallweb get --pin \"sha256:$(cat key.sha256)\" https://example.org/",
            .value("sha256:HEX", OptionValue.sha256) { $0.connection.pin = $1 }),
        Option(
            .knownHosts, .connection, "use FILE as the trust store",
            manual: "The trust store, instead of the user's own and of SMALLWEB_KNOWN_HOSTS: one "
                + "kept together with a script, for example, with --trust locked.",
            example:
                "smallweb get --known-hosts ./known_hosts --trust locked gemini://example.org/",
            .value("FILE") { settings, value throws(FetchError) in
                guard !value.isEmpty else { throw usageError("--known-hosts names no file") }
                settings.connection.knownHostsFile = value
            }),
        Option(
            .within, .store, "expiring: in this time (14d)",
            manual: "The period of 'smallweb trust expiring': a number with s, m, h, d or w.",
            example: "smallweb trust expiring --within 4w",
            .value("TIME") { settings, value throws(FetchError) in
                // Without a unit, days may be meant; seconds would never give a warning in time.
                guard value.last?.isNumber != true else {
                    throw usageError("--within wants a unit, as in \(value)d for days")
                }
                settings.stores.within = try OptionValue.duration(value, "--within")
            }),
        Option(
            .from, .store, "import: the client of the store",
            manual: "The client whose store 'smallweb trust import' reads: \(TrustFormat.names). "
                + "It is optional if the store tells it. smallweb is another store of this "
                + "program. For 'smallweb identity import' the client whose certificates it "
                + "reads: \(IdentityFormat.names).",
            example: "smallweb trust import --from gmni known_hosts",
            .value("CLIENT") { settings, value in settings.stores.importClient = value }
        ).with(\.values, .oneOf { TrustFormat.allCases.map(\.rawValue) }),
        Option(
            .to, .store, "export: the client to write for",
            manual: "The client for which 'smallweb trust export' writes: \(TrustFormat.names).",
            example: "smallweb trust export --to lagrange",
            .choice("CLIENT") { $0.stores.exportFormat = $1 }),
        Option(
            .opml, .store, "bookmarks: as OPML",
            manual: "Lists the bookmarks as OPML 2.0, which feed readers import. '@FILE.opml' is a "
                + "list of URLs again.",
            example: "smallweb bookmarks list --opml",
            .flag { settings, isOn in settings.stores.writesOPML = isOn }),
        Option(
            .replace, .store, "import: overwrite known keys",
            manual: "Lets an import replace keys that are known. Without it they stay.",
            example: "smallweb trust import --replace --from gmni known_hosts",
            .flag { settings, isOn in settings.stores.replacesPins = isOn }),
        Option(
            .force, .store, "do not ask before deleting or replacing",
            manual: "Does not ask before irreversible actions: identity remove, which deletes a "
                + "private key, trust replace without --pin, plugin remove, and plugin add if a "
                + "plugin of that name exists.",
            example: "smallweb identity remove --force alice",
            .flag { settings, isOn in settings.stores.isForced = isOn }),
    ]

    static let identity: [Option] = [
        Option(
            .identity, .store.with(takers: .fetches, scope: .url),
            "show this identity if the server asks",
            manual:
                "Shows the identity NAME to the host of the URL, and no other, if it asks for a "
                + "client certificate, even if the identity is bound to other URLs.",
            example: "smallweb get --identity alice gemini://example.org/app/",
            .value("NAME") { settings, value in settings.connection.identityName = value }
        ).with(\.values, .identities).undone { $0.connection.identityName = nil },
        Option(
            .cert, short: "E", .store.with(takers: .fetches, scope: .url),
            "the same with a certificate from FILE",
            manual: "Shows the certificate in FILE, PEM, to the host of the URL and no other. "
                + "Further certificates in it are its chain. Its key is in the same file, or in "
                + "that of --key.",
            example: "smallweb get -E me.crt --key me.key gemini://example.org/app/",
            .value("FILE") { settings, value in settings.connection.certificateFile = value }
        ).undone { $0.connection.certificateFile = nil },
        Option(
            .key, .store.with(takers: .fetches, scope: .url), "the key of --cert",
            manual: "The key of --cert, PEM.",
            example: "smallweb get -E me.crt --key me.key gemini://example.org/app/",
            .value("FILE") { settings, value in settings.connection.keyFile = value }
        ).undone { $0.connection.keyFile = nil },
        Option(
            .keyPasswordFile, .store.with(takers: .fetches, scope: .url),
            "read the key's password",
            manual: "A file with the password of an encrypted key. Without it you are asked.",
            example: "smallweb get -E me.pem --key-password-file pw gemini://example.org/app/",
            .value("FILE") { settings, value in settings.connection.keyPasswordFile = value }),
        Option(
            .keyType, .store, "identity new: ecdsa or ed25519",
            manual: "The key type of 'smallweb identity new': ecdsa, which is P-256 and works "
                + "with every server, or ed25519.",
            example: "smallweb identity new --key-type ed25519 alice",
            .choice("TYPE") { $0.stores.keyType = $1 }),
        Option(
            .delete, .uploads, "put: send nothing, which deletes",
            manual: "Uploads no bytes, which servers take for a request to delete the page.",
            example: "smallweb put --delete titan://example.org/a.gmi",
            .flag { settings, isOn in settings.fetch.deletes = isOn }),
    ]
}

extension OptionValue {
    static func trust(_ text: String, _ option: String) throws(FetchError) -> String {
        guard TrustStore.Policy.names.contains(text) else {
            throw unknown(text, option, among: TrustStore.Policy.names)
        }
        return text
    }
}

extension CaseIterable where Self: RawRepresentable, RawValue == String {
    // Avoids `joined`, as its generic metadata would cost time at each start.
    static var names: String {
        allCases.reduce("") { $0.isEmpty ? $1.rawValue : $0 + ", " + $1.rawValue }
    }
}

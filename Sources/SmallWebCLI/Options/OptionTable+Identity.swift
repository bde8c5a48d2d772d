// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

extension Option {
    var isForFetches: Bool { group != .config && !Self.ofStores.contains(long) }

    /// Those that other commands have no use for.
    static let ofUploads: Set<String> = ["mime", "token-file", "ask-token", "delete"]
    static let ofStores: Set<String> = ["within", "from", "to", "replace", "key-type"]

    /// Who we are, and what `put` sends.
    static let identity: [Option] = [
        Option(
            "identity", .store, "show this identity if the server asks",
            manual:
                "Shows the identity NAME to the host of the URL, and no other, if it asks for a "
                + "client certificate, whatever the identity is bound to.",
            example: "smallweb get --identity alice gemini://example.org/app/",
            values: .identities,
            .value("NAME") { settings, value in settings.identityName = value }),
        Option(
            "cert", short: "E", .store, "the same with a certificate from FILE",
            manual: "Shows the certificate in FILE, PEM, to the host of the URL and no other. "
                + "Further certificates in it are its chain. Its key is in the same file, or in "
                + "that of --key.",
            example: "smallweb get -E me.crt --key me.key gemini://example.org/app/",
            .value("FILE") { settings, value in settings.certificateFile = value }),
        Option(
            "key", .store, "the key of --cert",
            manual: "The key of --cert, PEM.",
            example: "smallweb get -E me.crt --key me.key gemini://example.org/app/",
            .value("FILE") { settings, value in settings.keyFile = value }),
        Option(
            "key-password-file", .store, "where the key's password is",
            manual: "A file with the password of an encrypted key. Without it you are asked.",
            example: "smallweb get -E me.pem --key-password-file pw gemini://example.org/app/",
            .value("FILE") { settings, value in settings.keyPasswordFile = value }),
        Option(
            "key-type", .store, "identity new: ecdsa or ed25519",
            manual: "What kind of key 'smallweb identity new' makes: ecdsa, which is P-256 and "
                + "which every server understands, or ed25519.",
            example: "smallweb identity new --key-type ed25519 alice",
            values: .oneOf { ClientIdentity.KeyType.allCases.map(\.rawValue) },
            .value("TYPE") { settings, value throws(FetchError) in
                settings.keyType = try OptionValue.choice(value, "--key-type")
            }),
        Option(
            "mime", .store, "put: the media type",
            manual: "The media type of an upload. Without it the file's name decides.",
            example: "smallweb put --mime text/plain titan://example.org/notes notes",
            .value("TYPE") { settings, value throws(FetchError) in
                let isSafe = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3F }
                guard isSafe, value.contains("/"), !value.contains("#") else {
                    throw usageError("\"\(value)\" is no media type")
                }
                settings.mime = value
            }),
        Option(
            "token-file", .store, "put: where the token is",
            manual: "A file with the token that an upload may need. It is never an argument, "
                + "which every user of the machine could read.",
            example: "smallweb put --token-file token titan://example.org/a.gmi a.gmi",
            .value("FILE") { settings, value in settings.tokenFile = value }),
        Option(
            "ask-token", .store, "put: ask for the token",
            manual: "Asks at the terminal for the token that an upload may need, and does not show "
                + "it.",
            example: "smallweb put --ask-token titan://example.org/a.gmi a.gmi",
            .flag { settings, isOn in settings.asksForToken = isOn }),
        Option(
            "delete", .store, "put: send nothing, which deletes",
            manual: "Uploads no bytes, which servers take for a request to delete the page.",
            example: "smallweb put --delete titan://example.org/a.gmi",
            .flag { settings, isOn in settings.deletes = isOn }),
    ]
}

// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    static let identity: [Option] = [
        Option(
            "identity", .store, takers: .fetches, scope: .url,
            "show this identity if the server asks",
            manual:
                "Shows the identity NAME to the host of the URL, and no other, if it asks for a "
                + "client certificate, even if the identity is bound to other URLs.",
            example: "smallweb get --identity alice gemini://example.org/app/",
            .value("NAME") { settings, value in settings.connection.identityName = value }
        ).with(\.values, .identities),
        Option(
            "cert", short: "E", .store, takers: .fetches, scope: .url,
            "the same with a certificate from FILE",
            manual: "Shows the certificate in FILE, PEM, to the host of the URL and no other. "
                + "Further certificates in it are its chain. Its key is in the same file, or in "
                + "that of --key.",
            example: "smallweb get -E me.crt --key me.key gemini://example.org/app/",
            .value("FILE") { settings, value in settings.connection.certificateFile = value }),
        Option(
            "key", .store, takers: .fetches, scope: .url, "the key of --cert",
            manual: "The key of --cert, PEM.",
            example: "smallweb get -E me.crt --key me.key gemini://example.org/app/",
            .value("FILE") { settings, value in settings.connection.keyFile = value }),
        Option(
            "key-password-file", .store, takers: .fetches, scope: .url,
            "where the key's password is",
            manual: "A file with the password of an encrypted key. Without it you are asked.",
            example: "smallweb get -E me.pem --key-password-file pw gemini://example.org/app/",
            .value("FILE") { settings, value in settings.connection.keyPasswordFile = value }),
        Option(
            "key-type", .store, "identity new: ecdsa or ed25519",
            manual: "What kind of key 'smallweb identity new' makes: ecdsa, which is P-256 and "
                + "which every server understands, or ed25519.",
            example: "smallweb identity new --key-type ed25519 alice",
            .choice("TYPE") { $0.stores.keyType = $1 }),
        Option(
            "delete", .uploads, "put: send nothing, which deletes",
            manual: "Uploads no bytes, which servers take for a request to delete the page.",
            example: "smallweb put --delete titan://example.org/a.gmi",
            .flag { settings, isOn in settings.fetch.deletes = isOn }),
    ]
}

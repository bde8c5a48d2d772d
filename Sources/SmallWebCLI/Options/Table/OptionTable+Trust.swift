// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

extension Option {
    static let trust: [Option] = [
        Option(
            .trust, .connection, .value("POLICY", OptionValue.trust) { $0.connection.trust = $1 }
        ).with(\.values, .oneOf { TrustStore.Policy.names }),
        Option(
            .pin, .connection, .value("sha256:HEX", OptionValue.sha256) { $0.connection.pin = $1 }),
        Option(
            .knownHosts, .connection,
            .value("FILE") { settings, value throws(FetchError) in
                guard !value.isEmpty else { throw usageError("--known-hosts names no file") }
                settings.connection.knownHostsFile = value
            }),
        Option(
            .within, .store,
            .value("TIME") { settings, value throws(FetchError) in
                // Without a unit, days may be meant; seconds would never give a warning in time.
                guard value.last?.isNumber != true else {
                    throw usageError("--within wants a unit, as in \(value)d for days")
                }
                settings.stores.within = try OptionValue.duration(value, "--within")
            }),
        Option(
            .from, .store, .value("CLIENT") { $0.stores.importClient = $1 }
        ).with(\.values, .oneOf { TrustFormat.allCases.map(\.rawValue) }),
        Option(.to, .store, .choice("CLIENT") { $0.stores.exportFormat = $1 }),
        Option(.opml, .store, .flag { $0.stores.writesOPML = $1 }),
        Option(.replace, .store, .flag { $0.stores.replacesPins = $1 }),
        Option(.force, .store, .flag { $0.stores.isForced = $1 }),
    ]

    static let identity: [Option] = [
        Option(
            .identity, .store.with(takers: .fetches, scope: .url),
            .value("NAME") { $0.connection.identityName = $1 }
        ).with(\.values, .identities).undone { $0.connection.identityName = nil },
        Option(
            .cert, short: "E", .store.with(takers: .fetches, scope: .url),
            .value("FILE") { $0.connection.certificateFile = $1 }
        ).undone { $0.connection.certificateFile = nil }.with(\.aliases, ["certificate"]),
        Option(
            .key, .store.with(takers: .fetches, scope: .url),
            .value("FILE") { $0.connection.keyFile = $1 }
        ).undone { $0.connection.keyFile = nil }.with(\.aliases, ["private-key"]),
        Option(
            .keyPasswordFile, .store.with(takers: .fetches, scope: .url),
            .value("FILE") { $0.connection.keyPasswordFile = $1 }),
        Option(.keyType, .store, .choice("TYPE") { $0.stores.keyType = $1 }),
        Option(
            .delete, .uploads.with(takers: [.put, .explain, .crawl]),
            .flag { $0.fetch.deletes = $1 }),
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
    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

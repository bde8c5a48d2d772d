// SPDX-License-Identifier: MIT
// Fetches URLs with keys in a table, which a program would have in its database: trust URL…
import Glibc
import SmallWeb

/// A table of keys. All its work is on one row at a time, so nothing else has to be locked.
actor KeyTable: TrustStore.Keeper {
    private var rows: [String: [TrustStore.Key]] = [:]

    func keys(of endpoint: Endpoint) -> [TrustStore.Key] { rows[endpoint.description] ?? [] }

    func remember(
        _ key: TrustStore.Key, of endpoint: Endpoint, replacing old: TrustStore.Key?
    ) -> Bool {
        let keys = rows[endpoint.description] ?? []
        guard old.map(keys.contains) ?? keys.isEmpty else { return false }
        rows[endpoint.description] = keys.filter { $0 != old } + [key]
        return true
    }
}

var options = Client.Options()
var store = TrustStore(keeper: KeyTable(), policy: .ask)
store.asker = { question in
    print("new key of \(question.endpoint), \(question.known.count) known")
    return question.known.isEmpty ? .always : .no
}
// HTTPS has authorities, whatever holds for others.
store.policies = { scheme, _ in scheme == "https" ? .ca : nil }
options.trust = store

do {
    let web = try Client(options: options)
    for url in CommandLine.arguments.dropFirst() {
        let page = try await web.fetch(url)
        print(page.outcome, "\(page.ending.connection?.trust?.verdict, default: "no key")")
    }
} catch {
    print("trust: \(error)")
    exit(1)
}

// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb

/// The store of `watch` without `--name` and `--state`: every page by its URL and the rules of its
/// comparison, whatever list it is on.
enum WatchStore {
    static let name = "pages"

    /// The end of a page's key: empty if its bytes are compared.
    static func suffix(_ rules: ComparisonRules) -> String {
        rules.isOfBody ? "" : "#\(rules.basis)"
    }

    /// Makes a new store of the states of version 0.2.0 in its directory, one for each list, which
    /// are removed then. Of a page with several the latest is kept.
    ///
    /// - Throws: `read`, `write`; the states are then as they were.
    static func takeOver(to path: String) throws(FetchError) {
        let place = directory(of: path)
        let names = ((try? directoryNames(place)) ?? []).filter { name in
            name.utf8.count == 16 && name.utf8.allSatisfy { ASCII.hexValue($0) != nil }
        }
        guard access(path, F_OK) != 0, !names.isEmpty else { return }
        var all = SubscriptionState(.watch)
        var copies: [(old: PageCopies, url: String, key: String)] = []
        for name in names {
            let old = "\(place)/\(name)"
            let state = try SubscriptionState(
                .watch, StoreFile(old, title: "state").read(), at: old)
            for (url, page) in state.allPages {
                let key = page.compared.map { "\(url)#\($0.prefix(8))" } ?? url
                guard page.time ?? 0 >= all[key]?.time ?? 0 else { continue }
                all[key] = page
                copies.append((PageCopies(of: old), url, key))
            }
            all.merge(state.hosts)
        }
        let bytes = all.bytes
        try StoreFile(path, title: "state").change { $0 = $0.isEmpty ? bytes : $0 }
        for (old, url, key) in copies { old.move(url, to: PageCopies(of: path), key) }
        for name in names {
            PageCopies(of: "\(place)/\(name)").remove()
            unlink("\(place)/\(name)")
        }
    }
}

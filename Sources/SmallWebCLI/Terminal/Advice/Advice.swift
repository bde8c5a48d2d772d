// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Hints of commands that name options; those of other failures are by ``FetchError/Remedy``.
enum Advice {
    static let otherState = "name another file with --state"
    static let thatState = "use that one, or \(otherState)"
    static let busyState = "wait for its end, or \(otherState)"
    static let nothingSaved =
        "nothing is saved but the list of pages: --mirror, --warc and --json save them"
    static let repeatedLimit = "repeat it, or \(otherState), or remove this one"
    static let nextRound = "--update asks for all of it again"
    static let gone = "--delete needs --mirror and --update"
    static let addedSeed = "--add adds it, --state names another file"
    static let noHomeForState = "set HOME, or name a file with --state"
    static let noHomeForKeys = "set HOME, or name the file with --known-hosts"
    static let moreTime = "allow more time with --max-time"
    static let deletion = "say so with --delete"
    static let deletedPage = "'smallweb put --delete URL' deletes a page"
    static let changedPage = "edit it again; with --force it would be replaced all the same"
    static let manyTags = "--if-changed is for many"
    static let otherSchemes = "--if-changed works over every scheme"
    static let keyPassword = "put its password into a file, for --key-password-file"
    static let identityDatabase =
        "sqlite3 -separator '|' DATABASE 'select hostname, port, root, filename from client_certs' "
        + "> dump; smallweb identity import --from av-98 dump DIR"

    static func keyDatabase(_ path: String) -> String {
        "sqlite3 -separator '|' \(path) 'select hostname, port, fingerprint from cert_cache' | "
            + "smallweb trust import --from av-98 -"
    }

    static func undated(_ name: String, _ nature: FeedNature) -> String {
        let others = nature == .versions ? "?refs&dates has them, " : ""
        return "\(name): what has no date gets 1970-01-01; \(others)--state FILE remembers when it "
            + "was first seen"
    }

    /// The URL of what stands behind `#` of a repository, as in VERSION or VERSION:PATH; `nil` for
    /// another URL.
    static func version(inFragmentOf url: String, _ registry: Registry) -> String? {
        guard let uri = try? URI(parsing: url), let fragment = uri.fragment, !fragment.isEmpty,
            registry[uri.scheme]?.scheme.hasReferences ?? false, uri.query == nil,
            !uri.path.contains(text: "//")
        else { return nil }
        let parts = fragment.split(separator: ":", maxSplits: 1)
        return uri.withoutFragment.display + (parts.count == 2 ? "//\(parts[1])" : "")
            + "?ref=\(parts.first ?? "HEAD")"
    }

    static let glob =
        "note: the URL is taken as it stands; a shell makes many of URL/{a,b} and URL/{1..20} that "
        + "are not quoted"

    static func compressedTar(_ url: String, _ file: String) -> String {
        "smallweb get \(quoted(URI.display(url))) | gzip > \(quoted(file))"
    }

    /// A word as a shell takes it.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy {
            ASCII.isLetter($0) || ASCII.isDigit($0) || "-_./:@%+,=".utf8.contains($0)
        }
        return isPlain && !word.isEmpty ? word : "'\(word.replacing(text: "'", with: "'\\''"))'"
    }

    static let page =
        "a page instead of a list of URLs is read by --local --content-type TYPE --base URL "
        + "/dev/stdin"

    static func foreign(_ option: String) -> String {
        wayOut("--" + option) ?? "'smallweb help get --\(option)' says what it is for"
    }

    /// The URL of a repository over the web, where an option is for those.
    static func repository(
        _ request: Request, taking option: String, _ registry: Registry
    ) -> String? {
        let uri = request.uri
        guard let own = registry.repositories(overWeb: uri.scheme), uri.query == nil,
            uri.path != "/", !uri.path.isEmpty,
            registry[own.name]?.handler.options(of: own.name).contains(where: { $0.key == option })
                ?? false
        else { return nil }
        return "for a repository: \(own.name)\(uri.display.dropFirst(uri.scheme.count))"
    }

    static func alone(_ request: Request) -> String {
        let option = request.scheme.hasReferences ? "--tar " : ""
        return "'smallweb get \(option)\(request.uri.display)' fetches it"
    }

    static func served(_ place: String) -> String {
        "to check files before they are published: smallweb crawl --check --from-dir \(place) URL"
    }

    static func directory(_ name: String) -> String { "use -O --output-dir \(name)" }

    static func replaced(_ place: String) -> String {
        "'smallweb trust replace --pin sha256:HEX \(place)' names the new key, --force takes the "
            + "one that the server has now"
    }

    static func pinned(_ url: String) -> String {
        "smallweb get --pin sha256:HEX \(url) accepts one key"
    }

    static func pinned(_ key: String, of host: String) -> String {
        "'smallweb get --pin \(key) \(host)' accepts this key"
    }
}

// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Words of curl, wget, git and other clients that have another name here, or none: hints for
/// replacing them.
enum ForeignWords {
    /// - Parameter name: The name as typed, without dashes. A letter may be an option of another
    ///   smallweb command.
    static func option(_ name: some StringProtocol) -> String? { pointer(name, in: pointers) }

    static func command(_ name: String) -> String? { pointer(name, in: commands) }

    /// The URL or list that a word without a scheme was meant to be.
    static func url(_ word: String, _ registry: Registry?) -> String? {
        if FileOutput.isTaken(word) { return "a list of URLs is @\(word)" }
        if registry?[word] != nil { return "a URL begins with its scheme: \(word)://HOST/" }
        if word.hasPrefix("{") || word.hasPrefix("[{") {
            return "--json is for output; --header 'Content-Type: application/json' --data DATA "
                + "sends JSON"
        }
        if let scheme = URI.scheme(of: word),
            let rest = word.split(separator: ":").dropFirst().first,
            !(rest.first?.isNumber ?? true)
        {
            let place = word.dropFirst(scheme.count + 1).drop { $0 == "/" }
            return registry?[scheme] == nil
                ? "'smallweb schemes' lists those that work" : "write \(scheme)://\(place)"
        }
        let word = word.drop { $0 == "/" }
        guard word.utf8.contains(where: { ":/.@".utf8.contains($0) }) else { return nil }
        let scheme = registry?.schemeOfHosts?.name ?? "SCHEME"
        return "write the URL in full, for example \(scheme)://\(word)"
    }

    /// The action of a command that another client calls `name`.
    static func action(_ name: String, of command: Command) -> String? {
        for (names, action) in actions
        where names.split(separator: " ").contains(where: { $0 == name }) {
            guard let action = command.action(action) else { continue }
            return "did you mean 'smallweb \(action.name)'?"
        }
        return nil
    }

    private static func pointer(
        _ name: some StringProtocol, in pointers: [(names: String, pointer: String)]
    ) -> String? {
        pointers.first { $0.names.split(separator: " ").contains { $0 == name } }?.pointer
    }

    static let commands: [(names: String, pointer: String)] = [
        ("fetch download cat curl wget", "'smallweb get URL' prints a page, -O saves it"),
        ("view browse read visit", "'smallweb open URL' shows a page"),
        (
            "show cat-file",
            "'smallweb get REPOSITORY//PATH?ref=VERSION' prints a file, 'smallweb log -n 1 "
                + "REPOSITORY' a commit"
        ),
        ("ls-tree", "'smallweb get REPOSITORY//DIRECTORY' lists a directory of a repository"),
        ("convert edit", "'smallweb get --render html URL' lays a page out as HTML"),
        ("upload send", "'smallweb put URL FILE' uploads"),
        ("version", "'smallweb --version' says it"),
        ("extract", "'smallweb warc cat FILE URL' prints a page of an archive"),
        ("replay", "'smallweb get --replay FILE URL' fetches from an archive"),
        ("record", "'smallweb get --warc FILE URL' records into an archive"),
        (
            "archive",
            "'smallweb get --tar REPOSITORY?ref=VERSION' packs a repository, 'smallweb get --warc "
                + "FILE URL' records a page"
        ),
        (
            "subscribe follow",
            "'smallweb watch URL' says if a page has changed, 'smallweb feed URL' makes it a feed"
        ),
        ("ls-remote tags branches", "'smallweb refs URL' lists branches and tags"),
        ("clone", "'smallweb get --tar URL' gets the files of a repository, git its history"),
        (
            "check linkcheck",
            "'smallweb crawl --check URL' says which links are broken, 'smallweb warc check FILE' "
                + "if an archive is whole"
        ),
        (
            "grep",
            "'smallweb get URL' into grep finds words of a page, 'smallweb warc cat FILE URL' of a "
                + "recorded one"
        ),
        (
            "subscriptions",
            "'smallweb feed @FILE' merges the pages of a list, 'smallweb watch @FILE'"
                + " says what has changed"
        ),
        ("post", "'smallweb get --data DATA URL' sends data over HTTP"),
        ("pins certs known-hosts", "'smallweb trust list' shows the keys of servers"),
        ("search query", "'smallweb get --data WORDS URL' sends search words"),
        ("accept", "'smallweb trust replace HOST' accepts a server's new key"),
        (
            "rm forget delete remove",
            "'smallweb trust remove HOST' forgets a server's key; bookmarks, identity and plugin "
                + "have 'remove' as well"
        ),
        (
            "mirror spider",
            "'smallweb crawl --mirror DIR URL' follows links and saves pages, 'smallweb crawl "
                + "--check URL' says which links are broken"
        ),
    ]

    /// Actions of a command, after other names for them; the first that the command has.
    static let actions: [(names: String, action: String)] = [
        ("rm forget delete del unpin uninstall clear", "remove"), ("rm forget delete", "clear"),
        ("accept update renew trust reset", "replace"), ("ls show search grep find", "list"),
        ("cat info view", "show"),
        ("create make generate init", "new"), ("install bind", "add"), ("add", "import"),
        ("bind", "use"),
        ("unbind", "unuse"), ("extract show get", "cat"), ("verify validate test", "check"),
    ]

    static let pointers: [(names: String, pointer: String)] = [
        ("timeout", "--max-time TIME is for the whole fetch, --read-timeout TIME for a silence"),
        (
            "T",
            "'smallweb put URL FILE' uploads, over HTTP -X PUT -d @FILE (curl); --max-time TIME "
                + "limits the time (wget)"
        ),
        ("upload-file", "'smallweb put URL FILE' uploads, over HTTP -X PUT -d @FILE"),
        ("compressed", "compressed bodies are asked for and unpacked without an option"),
        (
            "page-requisites r recursive",
            "'smallweb crawl --mirror DIR URL' follows links and saves pages; -C OFFSET asks for "
                + "the rest of a body"
        ),
        (
            "p",
            "'smallweb diff --patch URL A..B' shows changes; -x http://HOST:PORT goes through a "
                + "proxy by a tunnel (curl)"
        ),
        (
            "stat",
            "'smallweb diff URL A..B' lists the files that have changed, with --patch their changes"
        ),
        ("author", "'smallweb log --json URL' has authors, for jq to choose from"),
        ("html", "'smallweb get --render html URL' lays a page out as HTML"),
        (
            "export-opml",
            "'smallweb feed @FILE.opml' reads a list, 'smallweb bookmarks list --opml' writes one"
        ),
        ("qO-", "without -o and -O a body goes to standard output; -q is for messages"),
        ("range", "-C OFFSET asks for the rest of a body"),
        ("t tries retries", "--retry N tries again"),
        ("width columns", "COLUMNS=60 in the environment sets the width of a rendered page"),
        ("branches", "--heads lists the branches"),
        ("socks5 socks5-hostname", "-x socks5h://HOST:PORT goes through a SOCKS proxy"),
        ("wait", "--per-host-delay TIME waits between requests"),
        ("spider", "'smallweb head URL' asks for no body"),
        ("output-document", "-o FILE writes the body to FILE"),
        ("J remote-header-name content-disposition", "-O takes the name from the URL alone"),
        ("url", "a URL is an operand"),
        (
            "b cookie cookie-jar load-cookies save-cookies",
            "no cookies are kept; --header 'Cookie: NAME=VALUE' sends one"
        ),
        (
            "u user",
            "--netrc takes user and password from ~/.netrc, --header @FILE an Authorization field "
                + "from a file"
        ),
        ("netrc-file", "--netrc reads ~/.netrc"),
        (
            "oauth2-bearer bearer",
            "--header @FILE sends 'Authorization: Bearer TOKEN' from a file, which others cannot "
                + "see"
        ),
        ("tor", "-x socks5h://127.0.0.1:9050 goes through Tor"),
        ("dry-run", "'smallweb explain URL' shows what would be sent, without sending it"),
        ("import", "@FILE.opml is a list of URLs, 'smallweb bookmarks import FILE' keeps them"),
        ("G get F form", "write a query into the URL, or send a body with --data"),
        (
            "data-raw data-binary post-data post-file body-data body-file",
            "--data TEXT or --data @FILE sends the bytes as they are"
        ),
        ("data-urlencode", "write the query into the URL"),
        ("pinnedpubkey", "--pin sha256:HEX"),
        ("no-check-certificate", "-k accepts any certificate"),
        ("cacert ca-certificate", "SSL_CERT_FILE names the certificate authorities"),
        ("nc", "--no-clobber keeps a file that is there, --skip-existing fetches nothing then"),
        ("no-verbose nv", "-q leaves out notes and progress"),
        ("g globoff", "URLs have no patterns, so there is nothing to turn off"),
        ("N", "nothing is held back (curl); --if-changed leaves what is the same (wget)"),
        ("timestamping", "--if-changed leaves a file alone that is the same, -R keeps its time"),
        ("no-buffer", "nothing is held back in a buffer"),
        ("ref branch tag", "a version is part of the URL: ?ref=v1.0"),
        ("pretty", "'| jq .' lays out --json; of log, --format full shows whole commits"),
        ("token", "--token-file FILE reads it, --ask-token asks: others see the command line"),
    ]
}

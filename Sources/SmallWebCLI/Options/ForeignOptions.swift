// SPDX-License-Identifier: MIT

/// Options of curl and wget with other names here, or without need: hints for replacing them.
enum ForeignOptions {
    /// - Parameter name: The name as typed, without dashes. A letter may be an option of another
    ///   smallweb command.
    static func pointer(_ name: some StringProtocol) -> String? {
        let name = String(name)
        return pointers.first { $0.names.split(separator: " ").contains { $0 == name } }?.pointer
    }

    static let pointers: [(names: String, pointer: String)] = [
        ("timeout", "--max-time TIME is for the whole fetch, --read-timeout TIME for a silence"),
        ("T", "'smallweb put URL FILE' uploads (curl); --max-time TIME limits the time (wget)"),
        ("upload-file", "'smallweb put URL FILE' uploads"),
        ("compressed", "compressed bodies are asked for and unpacked without an option"),
        (
            "page-requisites r recursive mirror",
            "'smallweb links URL | cut -f1 | smallweb get "
                + "--tree -' fetches what a page links to"
        ),
        ("p", "-x http://HOST:PORT goes through a proxy by a tunnel (curl)"),
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
        ("b cookie", "--header 'Cookie: NAME=VALUE' sends a cookie"),
        ("u user", "write USER:PASSWORD@ before the host, or use --header 'Authorization: ...'"),
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
        ("N no-buffer", "nothing is held back in a buffer"),
    ]
}

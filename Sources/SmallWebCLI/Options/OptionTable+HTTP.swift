// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

extension Option {
    /// Options that mean something to HTTP alone: another scheme refuses them.
    static let http: [Option] = [
        Option(
            "header", short: "H", .http, "add a header field; @FILE reads several",
            manual: "Adds a field to the request's header, as NAME: VALUE. Without a value it "
                + "removes one that smallweb sends itself. @FILE reads one field per line, which "
                + "keeps secrets out of the process list. When a redirect leads to another "
                + "scheme, host or port, the body is not sent there, and of the fields only "
                + "Accept and its kin, User-Agent, Range and the If- conditions.",
            example: "smallweb get -H 'Accept: application/json' https://example.org/",
            .value("LINE") { settings, value throws(FetchError) in
                for line in try InputSource.lines(value) {
                    settings.http.fields.append(try OptionValue.field(line))
                }
            }),
        Option(
            "request", short: "X", .http, "use METHOD",
            manual: "Sends METHOD instead of GET, or of POST when there is --data.",
            example: "smallweb get -X DELETE https://example.org/item",
            values: .oneOf { ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] },
            .value("METHOD") { settings, value throws(FetchError) in
                settings.http.method = try OptionValue.method(value)
            }),
        Option(
            "user-agent", short: "A", .http, "introduce ourselves as NAME",
            manual: "The User-Agent field. It is smallweb and its version by default.",
            example: "smallweb get -A 'my-reader/1.0' https://example.org/",
            .value("NAME") { settings, value in settings.connection.userAgent = value }),
        Option(
            "referer", short: "e", .http, "say where the link was found",
            manual: "The Referer field.",
            example: "smallweb get -e https://example.org/ https://example.org/next",
            .value("URL") { settings, value in
                settings.http.fields.append(HTTPField("Referer", value))
            }),
        Option(
            "continue-at", short: "C", .http, "resume: at OFFSET, or - for what the file has",
            manual: "Asks for the bytes from OFFSET on. With - the offset is the size of the "
                + "--output file, to which the rest is added. A server that cannot resume is an "
                + "error, never a new start.",
            example: "smallweb get -C - -o disk.img https://example.org/disk.img",
            .value("OFFSET") { settings, value throws(FetchError) in
                settings.resume =
                    value == "-"
                    ? .fromFile : .from(try OptionValue.size(value, "--continue-at"))
            }),
        Option(
            "proxy", short: "x", .http, "go through the proxy at URL",
            manual: "Goes through a proxy: http://, https://, socks4://, socks5:// or socks5h://. "
                + "Without it http_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY count.",
            example: "smallweb get -x socks5h://127.0.0.1:9050 https://example.org/",
            .value("URL") { settings, value in settings.connection.proxy = value }),
        Option(
            "noproxy", .http, "hosts that need no proxy, separated by commas",
            manual: "Hosts that are reached without the proxy, separated by commas.",
            example: "smallweb get --noproxy localhost http://localhost/",
            .value("LIST") { settings, value in settings.connection.noProxy = value }),
        Option(
            "connect-to", .http, "connect to another host and port",
            manual: "Connects to HOST2:PORT2 when HOST1:PORT1 is asked for.",
            example:
                "smallweb get --connect-to example.org:443:127.0.0.1:8443 https://example.org/",
            .value("HOST1:PORT1:HOST2:PORT2") { settings, value in
                settings.connection.connectTo.append(value)
            }),
        Option(
            "unix-socket", .http, "connect to the Unix socket PATH",
            manual: "Connects to a Unix socket instead of the host.",
            example: "smallweb get --unix-socket /run/app.sock http://localhost/status",
            .value("PATH") { settings, value in settings.connection.unixSocket = value }),
        Option(
            "fallback-curl", .http, "let libcurl fetch what no plugin handles",
            manual: "Hands schemes that no plugin handles to libcurl, as far as it supports them: "
                + "ftp, sftp, dict and more. 'smallweb schemes --fallback-curl' lists them.",
            example: "smallweb get --fallback-curl dict://dict.org/d:gopher",
            .flag { settings, isOn in settings.fallsBackToCurl = isOn }),
    ]
}

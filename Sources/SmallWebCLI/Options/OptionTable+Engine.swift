// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

extension Option {
    /// How libcurl connects: schemes that it does not fetch refuse them.
    static let engine: [Option] = [
        Option(
            "proxy", short: "x", .connection, "go through the proxy at URL",
            manual: "Goes through a proxy: http://, https://, socks4://, socks5:// or socks5h://. "
                + "Without it http_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY count.",
            example: "smallweb get -x socks5h://127.0.0.1:9050 https://example.org/",
            .value("URL") { settings, value in settings.connection.http.proxy = value }),
        Option(
            "noproxy", .connection, "hosts that need no proxy, separated by commas",
            manual: "Hosts that are reached without the proxy, separated by commas.",
            example: "smallweb get --noproxy localhost http://localhost/",
            .value("LIST") { settings, value in settings.connection.http.noProxy = value }),
        Option(
            "connect-to", .connection, "connect to another host and port",
            manual: "Connects to HOST2:PORT2 when HOST1:PORT1 is asked for.",
            example:
                "smallweb get --connect-to example.org:443:127.0.0.1:8443 https://example.org/",
            .value("HOST1:PORT1:HOST2:PORT2") { settings, value in
                settings.connection.http.connectTo.append(value)
            }),
        Option(
            "unix-socket", .connection, "connect to the Unix socket PATH",
            manual: "Connects to a Unix socket instead of the host.",
            example: "smallweb get --unix-socket /run/app.sock http://localhost/status",
            .value("PATH") { settings, value in settings.connection.http.unixSocket = value }),
        Option(
            "fallback-curl", .connection, "let libcurl fetch what no plugin handles",
            manual: "Hands schemes that no plugin handles to libcurl, as far as it supports them: "
                + "ftp, sftp, dict and more. 'smallweb schemes --fallback-curl' lists them.",
            example: "smallweb get --fallback-curl dict://dict.org/d:gopher",
            .flag { settings, isOn in settings.connection.fallsBackToCurl = isOn }),
    ]
}

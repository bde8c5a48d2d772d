// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    /// How libcurl connects: schemes that it does not fetch refuse them.
    static let engine: [Option] = [
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

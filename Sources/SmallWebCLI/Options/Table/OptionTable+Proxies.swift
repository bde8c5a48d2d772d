// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    static let proxies: [Option] = [
        Option(
            .proxy, short: "x", .connection,
            .value("URL") { settings, value throws(FetchError) in
                settings.connection.proxies.source =
                    value.isEmpty ? .none : .proxy(try Proxy(parsing: value))
            }),
        Option(.noproxy, .connection, .value("LIST") { $0.connection.proxies.exemptions = $1 }),
        Option(.proxyAuth, .connection, .value("FILE") { $0.connection.proxyAuthFile = $1 }),
        Option(
            .proxyCommand, .connection,
            .value("COMMAND") { settings, value in
                settings.connection.proxies.source = value.isEmpty ? .none : .command(value)
            }),
        Option(.isolate, .connection, .flag { $0.connection.proxies.isolates = $1 }),
    ]

    /// Options for libcurl's connections; refused for schemes that it does not fetch.
    static let engine: [Option] = [
        Option(
            .connectTo, .connection.with(takers: .downloads),
            .value("HOST1:PORT1:HOST2:PORT2") { $0.connection.http.connectTo.append($1) }),
        Option(
            .unixSocket, .connection.with(takers: .downloads),
            .value("PATH") { $0.connection.http.unixSocket = $1 }),
        Option(
            .fallbackCurl, .connection.with(takers: .downloads),
            .flag { $0.connection.fallsBackToCurl = $1 }),
    ]
}

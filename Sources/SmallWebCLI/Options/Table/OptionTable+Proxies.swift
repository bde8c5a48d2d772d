// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    static let proxies: [Option] = [
        Option(
            .proxy, short: "x", .connection, "go through the proxy at URL",
            manual: "Goes through a proxy, for every scheme: socks5h:// and socks4a:// let the "
                + "proxy resolve the name, socks5:// and socks4:// resolve it here, http:// and "
                + "https:// are asked for a tunnel with CONNECT, and for http URLs themselves. "
                + "tor:// is socks5h://127.0.0.1:9050 with --isolate. The default port is 1080, "
                + "443 for https. NO_PROXY is ignored then, unlike --noproxy. An empty URL means "
                + "no proxy. Without this option SCHEME_proxy and ALL_PROXY name it.",
            example: "smallweb get -x socks5h://127.0.0.1:9050 gemini://geminiprotocol.net/",
            .value("URL") { settings, value throws(FetchError) in
                settings.connection.proxies.source =
                    value.isEmpty ? .none : .proxy(try Proxy(parsing: value))
            }),
        Option(
            .noproxy, .connection, "hosts that need no proxy, separated by commas",
            manual: "Hosts to reach without the proxy, separated by commas: names, subdomains "
                + "included, addresses, networks such as 10.0.0.0/8, or * for all. Replaces "
                + "NO_PROXY.",
            example: "smallweb get --noproxy localhost http://localhost/",
            .value("LIST") { settings, value in settings.connection.proxies.exemptions = value }),
        Option(
            .proxyAuth, .connection, "user:password for the proxy, from FILE",
            manual: "A file with user:password for a proxy whose URL has none.",
            example:
                "smallweb get --proxy-auth login -x http://proxy.test:3128 https://example.org/",
            .value("FILE") { settings, value in settings.connection.proxyAuthFile = value }),
        Option(
            .proxyCommand, .connection, "talk to the server through COMMAND",
            manual: "Runs COMMAND with sh -c for each connection: its standard input and output "
                + "are the connection, and it ends with it. %h is the host, %p the port, %% a %. "
                + "Host and port come quoted for the shell.",
            example: "smallweb get --proxy-command 'ssh -W %h:%p jump' gopher://example.org/",
            .value("COMMAND") { settings, value in
                settings.connection.proxies.source = value.isEmpty ? .none : .command(value)
            }),
        Option(
            .isolate, .connection, "a SOCKS user name for each host",
            manual: "Gives the proxy another SOCKS user name for each host, so that Tor uses "
                + "separate circuits. A proxy without user names is an error. Hosts under .onion "
                + "get one without this option if the proxy takes it, and tor:// implies it; "
                + "--no-isolate turns both off.",
            example: "smallweb get --isolate -x socks5h://127.0.0.1:9050 https://example.org/",
            .flag { settings, isOn in settings.connection.proxies.isolates = isOn }),
    ]

    /// Options for libcurl's connections; refused for schemes that it does not fetch.
    static let engine: [Option] = [
        Option(
            .connectTo, .connection.with(takers: .downloads), "connect to another host and port",
            manual: "Connects to HOST2:PORT2 for HOST1:PORT1, over HTTP only; --resolve is for "
                + "all schemes.",
            example:
                "smallweb get --connect-to example.org:443:127.0.0.1:8443 https://example.org/",
            .value("HOST1:PORT1:HOST2:PORT2") { settings, value in
                settings.connection.http.connectTo.append(value)
            }),
        Option(
            .unixSocket, .connection.with(takers: .downloads), "connect to the Unix socket PATH",
            manual: "Connects to a Unix socket instead of the host, over HTTP only.",
            example: "smallweb get --unix-socket /run/app.sock http://localhost/status",
            .value("PATH") { settings, value in settings.connection.http.unixSocket = value }),
        Option(
            .fallbackCurl, .connection.with(takers: .downloads),
            "let libcurl fetch schemes without a plugin",
            manual: "Hands schemes that no plugin handles to libcurl, as far as it supports them: "
                + "ftp, sftp, dict and more. 'smallweb schemes --fallback-curl' lists them.",
            example: "smallweb get --fallback-curl dict://dict.org/d:gopher",
            .flag { settings, isOn in settings.connection.fallsBackToCurl = isOn }),
    ]
}

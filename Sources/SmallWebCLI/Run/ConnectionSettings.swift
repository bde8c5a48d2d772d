// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebTransport

/// How to connect, whom to trust, and who we are.
struct ConnectionSettings: Sendable {
    var family = Resolver.Family.any
    var resolverOverrides: [String: [String]] = [:]
    /// For all URLs of a run, whatever else differs between them.
    let hostNames = HostNames(keepSeconds: 0)
    var http = {
        var settings = HTTPSettings()
        settings.userAgent = "smallweb/\(Help.version)"
        return settings
    }()
    var proxies = ProxySettings()
    /// User and password of the proxy.
    var proxyAuthFile: String?
    /// Plugins that are programs, each by its folder or its name: they win over all others.
    var plugins: [String] = []
    /// Those of them that the command line names.
    var trustedPlugins: Set<String> = []
    /// Whether libcurl may fetch what no plugin does.
    var fallsBackToCurl = false

    var skipsTrust = false
    /// SHA-256 of the key that a server must have.
    var pin: [UInt8]?
    /// `nil` for the scheme's own: first use, or authorities for HTTP.
    var trust: String?
    /// Instead of the usual trust store.
    var knownHostsFile: String?

    /// The client certificate: a name, or files.
    var identityName: String?
    var certificateFile: String?
    var keyFile: String?
    var keyPasswordFile: String?

    /// The protocols of a run, or of a URL that has a section of its own.
    ///
    /// - Throws: `usage` for a plugin that is not there, `plugin` for one that cannot be used.
    func registry() throws(FetchError) -> Registry {
        var registry: Registry = fallsBackToCurl ? try .builtInWithCurl() : .withPrograms
        for name in plugins {
            let folder = try Settings.pluginFolder(name)
            // The name of one that is installed says nothing about what it may read.
            let isTrusted = trustedPlugins.contains(name) && Settings.isFolder(name)
            try registry.register(try folder.handler(isTrusted: isTrusted), replacing: true)
        }
        return registry
    }

    /// Which way to go, with what the file of `--proxy-auth` says.
    ///
    /// - Throws: `read`; `usage` for a file that holds something else.
    func readProxies() throws(FetchError) -> ProxySettings {
        guard let proxyAuthFile else { return proxies }
        let bytes = InputSource.withoutLineEnd(try InputSource.read("@" + proxyAuthFile))
        let parts = bytes.split(
            separator: ASCII.colon, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw usageError("\(proxyAuthFile) does not hold user:password")
        }
        var proxies = proxies
        proxies.credentials = .init(
            user: String(decoding: parts[0], as: UTF8.self),
            password: String(decoding: parts[1], as: UTF8.self))
        return proxies
    }

    /// The trust store's file.
    ///
    /// - Throws: `usage` when there is neither a variable nor a home directory to find it by.
    func knownHosts() throws(FetchError) -> String {
        guard let path = knownHostsFile ?? UserFiles.knownHosts else {
            throw usageError(
                "no home directory for the trust store",
                hint: "set HOME, or name the file with --known-hosts")
        }
        return path
    }

    /// The store with the policy that the options ask for.
    ///
    /// - Throws: `usage` when there is no place for it.
    func trustStore(_ asker: Asker) throws(FetchError) -> TrustStore {
        let policy: TrustStore.Policy? =
            if let pin { .pin(pin) } else if skipsTrust { .skip } else {
                trust.flatMap(TrustStore.Policy.init)
            }
        var store = TrustStore(path: policy == .skip ? "" : try knownHosts(), policy: policy)
        if policy == .ask && asker.canAsk {
            store.asker = { asker.confirms($0) }
        }
        return store
    }
}

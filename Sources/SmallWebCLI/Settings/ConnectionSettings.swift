// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebTransport

struct ConnectionSettings: Sendable {
    var family = Resolver.Family.any
    var resolverOverrides: [String: [String]] = [:]
    var isPublicOnly = false
    /// Shared by all URLs of a run, whatever their other settings.
    let hostNames = HostNames(keepSeconds: 0)
    /// Judges URLs by robots files; `nil` to ask for none.
    var robots: RobotsGate?
    var http = {
        var settings = HTTPSettings()
        settings.userAgent = "smallweb/\(Help.version)"
        return settings
    }()
    var proxies = ProxySettings()
    /// Path of a file with user and password of the proxy.
    var proxyAuthFile: String?
    /// Plugin programs, by folder or name; they replace all other plugins of their schemes.
    var plugins: [String] = []
    /// The plugins named on the command line.
    var trustedPlugins: Set<String> = []
    /// True to fetch with libcurl if no plugin has the scheme.
    var fallsBackToCurl = false

    var skipsTrust = false
    /// SHA-256 of the key to demand from the server.
    var pin: [UInt8]?
    /// Trust policy; `nil` for the scheme's default: first use, or authorities for HTTP.
    var trust: String?
    /// Replaces the default trust store.
    var knownHostsFile: String?

    /// The client certificate: a named identity, or files.
    var identityName: String?
    var certificateFile: String?
    var keyFile: String?
    var keyPasswordFile: String?

    /// The protocols of a run, or of a URL with settings of its own.
    ///
    /// - Throws: `usage` for a plugin that does not exist, `plugin` for one that cannot be used.
    func registry() throws(FetchError) -> Registry {
        var registry: Registry = fallsBackToCurl ? try .builtInWithCurl() : .withPrograms
        for name in plugins {
            let folder = try Settings.pluginFolder(name)
            // A path implies consent to the files its manifest reads; the name of an installed one
            // does not.
            let isTrusted = trustedPlugins.contains(name) && Settings.isFolder(name)
            try registry.register(
                try folder.handler(isTrusted: isTrusted), replacing: true, isOurs: true)
        }
        return registry
    }

    /// The proxy settings, with the credentials in the file of `--proxy-auth`.
    ///
    /// - Throws: `read`; `usage` for a malformed file.
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

    /// The path of the trust store.
    ///
    /// - Throws: `usage` if neither an option nor the home directory determines it.
    func knownHosts() throws(FetchError) -> String {
        guard let path = knownHostsFile ?? UserFiles.knownHosts else {
            throw usageError(
                "no home directory for the trust store",
                hint: Advice.noHomeForKeys)
        }
        return path
    }

    /// The trust store with the policy of the options.
    ///
    /// - Throws: `usage` if its path cannot be determined.
    func trustStore(_ asker: Asker) throws(FetchError) -> TrustStore {
        let policy: TrustStore.Policy? =
            if let pin { .pin(pin) } else if skipsTrust { .skip } else {
                trust.flatMap(TrustStore.Policy.init)
            }
        var store = TrustStore(path: policy == .skip ? "" : try knownHosts(), policy: policy)
        if policy == .ask && asker.canAsk {
            store.asker = { asker.confirms($0.error) ? .always : .no }
            store.asksOnLoop = true
        }
        return store
    }
}

// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebTransport

/// How to connect, whom to trust, and who we are.
struct ConnectionSettings: Sendable {
    var family = AddressFamily.any
    var resolverOverrides: [String: [String]] = [:]
    var http = {
        var settings = HTTPSettings()
        settings.userAgent = "smallweb/\(Help.version)"
        return settings
    }()
    /// Whether libcurl may fetch what no plugin does.
    var fallsBackToCurl = false

    var skipsTrust = false
    /// `nil` for the scheme's own: first use, or authorities for HTTP.
    var trust: String?
    /// Instead of the usual trust store.
    var knownHostsFile: String?

    /// The client certificate: a name, or files.
    var identityName: String?
    var certificateFile: String?
    var keyFile: String?
    var keyPasswordFile: String?

    /// - Parameter policy: Its name.
    mutating func setTrust(_ policy: String) {
        trust = policy
        http.refusedPolicy = policy == "ca" ? nil : .init(rawValue: policy)
    }

    /// What is said of one URL counts more than `--insecure` for all.
    mutating func insists() {
        skipsTrust = false
        http.skipsTrust = false
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
        let policy: TrustPolicy =
            if let pin = http.pin {
                .pin(pin)
            } else if skipsTrust {
                .skip
            } else {
                trust.flatMap(TrustPolicy.init) ?? .tofu
            }
        var store = TrustStore(
            path: policy == .skip ? "" : try knownHosts(), policy: policy)
        if policy == .ask && asker.canAsk {
            store.asker = { asker.confirms($0) }
        }
        return store
    }
}

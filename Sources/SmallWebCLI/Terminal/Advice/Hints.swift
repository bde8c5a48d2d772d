// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Advice after failures: all hints that name options and commands are here.
extension FetchError.Remedy {
    var hint: String {
        switch self {
        case .raise(.openFiles): "use fewer --jobs, or allow more open files with 'ulimit -n'"
        case .raise(.threads): "use fewer --jobs, or allow more processes with 'ulimit -u'"
        case .raise(.bodyBytes): "allow more with --max-filesize"
        case .raise(.redirects): "allow more with --max-redirs"
        case .raise(.pause):
            "fetch it again later, or allow longer waits with --retry-max-time"
        case .raise: "allow more time with \(timeOption ?? "")"
        case .checkPort(let name, _):
            "check that this port speaks \(name), or allow more time with \(timeOption ?? "")"
        case .useKnownScheme: "'smallweb schemes' lists those that work"
        case .useOtherURL(let uri): "to look into the repository: \(uri.display)"
        case .allowScheme: "allow it with --proto"
        case .nameFile: "get, links, feed and watch take it with --local, open takes its path"
        case .allowRedirectScheme:
            "fetch the target yourself, or allow its scheme with --proto-redir"
        case .useOtherPolicy: "http and https know --trust ca (the default), --pin and --insecure"
        case .trustOnFirstUse: "a server that signs its own certificate needs --trust tofu"
        case .nameAuthority:
            "name the authority with SSL_CERT_FILE, or the key that 'smallweb trust check' shows "
                + "with --pin, or skip the check with -k"
        case .addKey(let place, let key):
            "if that is right: smallweb trust add \(place) --pin \(key)"
        case .replaceKey(let place, let key):
            "if the change is genuine: smallweb trust replace \(place) --pin \(key)"
        case .removeKey(let place):
            "correct the line, or delete it: smallweb trust remove \(place)"
        case .correctPin: "if the key that is there now is right, name that one with --pin"
        case .nameTrustStore: "name another with --known-hosts or SMALLWEB_KNOWN_HOSTS"
        case .makeIdentity: "'smallweb identity new' makes one"
        case .listIdentities: "'smallweb identity list' shows those that there are"
        case .removeIdentity(let name):
            "choose another name, or 'smallweb identity remove \(name)' first"
        case .bindIdentity(let uri): Self.identity(for: uri?.display ?? "URL")
        case .giveToken(let uri):
            "--token-file FILE or --ask-token sends a token; " + Self.identity(for: uri.display)
        case .useProxy(let url): "name its proxy, for example with --proxy \(url)"
        case .keepPages: "fetch it with --cache while there is a network"
        case .fetchAlone: "if you trust it, fetch that URL yourself"
        case .allowAnyAddress:
            "if it may be asked, leave out --public-only, or add --no-public-only"
        case .giveCredentials:
            "give user and password with --netrc, or an Authorization field with --header @FILE"
        case .giveProxyCredentials: "give them with --proxy-auth FILE, as user:password"
        case .nameProxyAuthority:
            "name its authority with SSL_CERT_FILE; --insecure is for the target alone"
        case .useAnyFamily: "leave out -4 or -6"
        case .inputOnly(let what, let example): "only \(what) takes --data: \(example)"
        case .allowEmptyReply: "if nothing is what there is, accept it with --allow-empty"
        case .upload: "smallweb put URL FILE"
        case .nameParameters:
            "--mime TYPE names the type, --token-file FILE or --ask-token the token"
        case .listReferences: "'smallweb refs' lists what there is"
        case .startOver: "download it again, without -C"
        case .takeEncoded: "fetch it as it is, with --raw"
        case .takeWhole: "take all of it, without --slice"
        case .takeFromStart: "begin again with --slice 0:COUNT"
        case .listWithoutRecords: "list them without --json, or set --max-filesize"
        }
    }

    /// Names an identity that is there: a server that knows one does not know a second.
    private static func identity(for url: String) -> String {
        let new = "smallweb identity new NAME \(url) makes one and binds it"
        guard let store = try? IdentityStore(.builtIn), let names = try? store.names(),
            let name = names.min()
        else { return new }
        let others = names.count > 1 ? " ('smallweb identity list' shows all)" : ""
        return "smallweb identity use \(name) \(url) shows one that you have\(others); \(new)"
    }

    fileprivate var timeOption: String? {
        switch self {
        case .raise(.connectTime), .checkPort(_, .connectTime): "--connect-timeout"
        case .raise(.silence), .checkPort(_, .silence): "--read-timeout"
        case .raise(.totalTime), .checkPort(_, .totalTime): "--max-time"
        default: nil
        }
    }
}

extension ProxySettings.Choice {
    /// Origin of the choice: an option, a variable, or an entry in one of them.
    var words: String? {
        switch reason {
        case nil: return nil
        case .settings:
            if case .command = route { return "--proxy-command" }
            return "--proxy"
        case .variable(let name): return name
        case .exemption(let name, let entry): return "\(name ?? "--noproxy") has \(entry)"
        }
    }
}

extension FetchError {
    var advice: String? { hint ?? remedy?.hint }

    /// Advice for an interactive user, who sees both keys and confirms the replacement, so this
    /// form is short enough to copy whole.
    var adviceForPerson: String? {
        guard hint == nil, case .replaceKey(let place, _)? = remedy else { return advice }
        return "if the change is genuine: smallweb trust replace \(place)"
    }

    var details: [String] { (detail.map { ["  " + $0] } ?? []) + fingerprints }

    /// The expected and the actual key, a line each, grouped for comparison by eye.
    private var fingerprints: [String] {
        guard outcome == .trustChanged || outcome == .untrusted else { return [] }
        let isChange = expected?.contains(":") ?? false
        let isPinned = remedy == .correctPin
        return [(isPinned ? "want" : "was", expected), (isChange ? "now" : "key", actual)]
            .compactMap { name, value in
                guard let value, let colon = value.lastIndex(of: ":") else { return nil }
                let kind = value.hasPrefix("certificate") ? " (certificate)" : ""
                return "  \(name) " + Self.grouped(value[colon...].dropFirst()) + kind
            }
    }

    /// Groups of eight digits.
    static func grouped(_ digits: Substring) -> String {
        stride(from: 0, to: digits.count, by: 8).map {
            String(digits.dropFirst($0).prefix(8))
        }.joined(separator: " ")
    }

    /// The expected value; for a timeout with the option that sets it.
    var expectation: String? {
        guard let option = remedy?.timeOption else { return expected }
        return expected.map { "\(option) \($0)" }
    }
}

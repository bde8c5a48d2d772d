// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import SmallWebCore

/// libcurl, opened at the first use in the process.
//
// @unchecked: function pointers that do not change after `init`.
final class CurlLibrary: @unchecked Sendable {
    /// Lives as long as the process.
    let functions: UnsafePointer<swcurl_functions>
    /// Whether its TLS is the OpenSSL that we open ourselves, whose objects we may then look at.
    let usesOurOpenSSL: Bool
    /// The schemes it can fetch, by its own names.
    let protocols: [String]
    /// `8.5.0`.
    let version: String

    private static let loaded = Result { () throws(FetchError) in try CurlLibrary() }

    /// - Throws: `not-built-in` when libcurl is not installed.
    static func shared() throws(FetchError) -> CurlLibrary { try loaded.get() }

    private init() throws(FetchError) {
        var functions = swcurl_functions()
        if let problem = swcurl_load(&functions) {
            throw FetchError(
                .notBuiltIn, .input, "HTTP needs libcurl: \(String(cString: problem))",
                hint: "install the package libcurl4")
        }
        guard functions.curl_global_init(Int(swcurl_global_default)) == CURLE_OK,
            let version = functions.curl_version_info(swcurl_version_now)?.pointee
        else { throw FetchError(.notBuiltIn, .input, "libcurl could not be initialised") }
        let table = UnsafeMutablePointer<swcurl_functions>.allocate(capacity: 1)
        table.initialize(to: functions)
        self.functions = UnsafePointer(table)
        let tls = version.ssl_version.map { String(cString: $0) } ?? ""
        usesOurOpenSSL = tls.hasPrefix("OpenSSL/3.")
        self.version = version.version.map { String(cString: $0) } ?? ""
        var names: [String] = []
        var next = version.protocols
        while let name = next?.pointee {
            names.append(String(cString: name))
            next = next?.advanced(by: 1)
        }
        protocols = names
    }
}

/// What there was to know about a transfer when it failed: libcurl has one code for several ills.
struct CurlCircumstances {
    let isResolved: Bool
    /// Whether there is a server or proxy that may have caused what went wrong.
    let hasPeer: Bool
    let isTLS: Bool
    /// Whether the request could go out.
    let isConnected: Bool
    let hasReply: Bool
    let isPaused: Bool
    /// Of the last system call that failed, or 0.
    let errorNumber: Int
    /// The proxy's answer to CONNECT, or 0.
    let tunnelStatus: Int
    /// Whether TLS ended with the server's demand for a client certificate. TLS 1.3 has it after
    /// the handshake, where libcurl has no code for it: OpenSSL's words are all there is.
    let demandsIdentity: Bool
    /// Whether the connection ended before TLS did, which libcurl says from 8.14 on, in OpenSSL's
    /// words.
    let isCutOff: Bool

    /// What is more precise than the code alone.
    fileprivate func verdict(on code: CURLcode) -> (Outcome, FetchError.Phase)? {
        switch code {
        case CURLE_RECV_ERROR where !hasReply && demandsIdentity: (.needsIdentity, .tls)
        case CURLE_RECV_ERROR where !hasReply && tunnelStatus >= 300: (.proxy, .proxy)
        case CURLE_RECV_ERROR where isCutOff && !hasReply: (.emptyReply, .header)
        case CURLE_RECV_ERROR where (errorNumber != 0 || isCutOff) && hasReply: (.truncated, .body)
        case CURLE_HTTP2 where hasReply, CURLE_HTTP2_STREAM where hasReply: (.truncated, .body)
        // Bad chunks, too many header fields: the network did its part.
        case CURLE_RECV_ERROR where errorNumber == 0 && isConnected:
            (.protocolError, hasReply ? .body : .header)
        // No address of the family asked for, so none was tried.
        case CURLE_COULDNT_CONNECT where errorNumber == 0: (.resolve, .resolve)
        // A reply that is not HTTP/1 or later.
        case CURLE_UNSUPPORTED_PROTOCOL where hasPeer: (.protocolError, .header)
        // What a paused transfer has unpacked.
        case CURLE_OUT_OF_MEMORY where isPaused: (.tooLarge, .body)
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: shortage
        case CURLE_BAD_FUNCTION_ARGUMENT where hasPeer, CURLE_UNKNOWN_OPTION where hasPeer,
            CURLE_WRITE_ERROR:
            broken
        default: nil
        }
    }

    /// libcurl's functions fail among themselves over a field that they cannot take apart, or a
    /// body that they cannot decode.
    private var broken: (Outcome, FetchError.Phase) {
        if hasReply { return (.protocolError, .body) }
        return isTLS && !isConnected ? (.tls, .tls) : (.protocolError, .header)
    }

    /// A header line beyond libcurl's own bound; before there is a server, a lack of threads,
    /// descriptors or memory, which may be over soon.
    private var shortage: (Outcome, FetchError.Phase) {
        if hasPeer { return broken }
        return isResolved ? (.connect, .connect) : (.resolve, .resolve)
    }
}

extension FetchError {
    /// libcurl's error as one of ours, with its own words.
    init(curl code: CURLcode, _ message: String, _ circumstances: CurlCircumstances) {
        let (outcome, phase) = circumstances.verdict(on: code) ?? Self.verdict(on: code)
        // libcurl blames the caller of its own function.
        let isBadField = code == CURLE_BAD_FUNCTION_ARGUMENT && outcome == .protocolError
        let isCutOff = code == CURLE_RECV_ERROR && circumstances.isCutOff
        let words =
            isBadField
            ? "the reply has a malformed header field"
            : isCutOff ? "the server closed without a TLS close_notify" : message
        self.init(outcome, phase, words, hint: Self.hint(outcome))
        remedy = Self.remedy(outcome)
    }

    private static func verdict(on code: CURLcode) -> (Outcome, Phase) {
        switch code {
        case CURLE_UNSUPPORTED_PROTOCOL: (.unsupportedScheme, .input)
        case CURLE_URL_MALFORMAT: (.badURL, .input)
        case CURLE_NOT_BUILT_IN: (.notBuiltIn, .input)
        case CURLE_SETOPT_OPTION_SYNTAX: (.usage, .input)
        case CURLE_COULDNT_RESOLVE_PROXY: (.proxyResolve, .resolve)
        case CURLE_COULDNT_RESOLVE_HOST: (.resolve, .resolve)
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: (.connect, .connect)
        case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3,
            CURLE_BAD_CONTENT_ENCODING, swcurl_too_large:
            (.protocolError, .header)
        case CURLE_PARTIAL_FILE: (.truncated, .body)
        case CURLE_READ_ERROR: (.read, .send)
        // The one limit that libcurl itself watches.
        case CURLE_OPERATION_TIMEDOUT: (.timeout, .connect)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED: (.tls, .tls)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_INVALIDCERTSTATUS:
            (.untrusted, .tls)
        case CURLE_SSL_CERTPROBLEM: (.identityUnusable, .tls)
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: (.trustChanged, .tls)
        case CURLE_SSL_CLIENTCERT: (.needsIdentity, .tls)
        case CURLE_GOT_NOTHING: (.emptyReply, .header)
        case CURLE_SEND_ERROR: (.send, .send)
        case CURLE_FILESIZE_EXCEEDED: (.tooLarge, .body)
        case CURLE_PROXY: (.proxy, .proxy)
        case CURLE_LOGIN_DENIED, CURLE_REMOTE_FILE_NOT_FOUND, CURLE_REMOTE_ACCESS_DENIED:
            (.permanentFailure, .header)
        // Of our own calls, as long as there is no server.
        case CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNKNOWN_OPTION: (.internal, .input)
        default: (.receive, .body)
        }
    }

    private static func hint(_ outcome: Outcome) -> String? {
        switch outcome {
        case .resolve: "check the spelling of the host and the network connection"
        case .connect: "check the port, and that the server is running"
        default: nil
        }
    }

    private static func remedy(_ outcome: Outcome) -> FetchError.Remedy? {
        switch outcome {
        case .untrusted: .nameAuthority
        case .timeout: .raise(.connectTime)
        case .needsIdentity: .bindIdentity(nil)
        default: nil
        }
    }
}

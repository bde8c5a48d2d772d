// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import CSmallWebPOSIX
internal import Glibc
internal import SmallWebCore

/// libcurl, opened at the first use in the process.
//
// @unchecked: function pointers that do not change after `init`.
final class CurlLibrary: @unchecked Sendable {
    /// Lives as long as the process. Owned, never freed.
    let functions: UnsafePointer<swcurl_functions>
    /// True if its TLS is OpenSSL 3 or 4, so that ``openSSL`` can inspect its objects.
    let usesOpenSSL: Bool
    /// Schemes that it can fetch, by its own names.
    let protocols: [String]
    /// For example `8.5.0`.
    let version: String

    private static let loaded = Result { () throws(FetchError) in try CurlLibrary() }

    /// - Throws: `not-built-in` when libcurl is not installed.
    static func shared() throws(FetchError) -> CurlLibrary { try loaded.get() }

    private let handle: UnsafeMutableRawPointer

    /// Its own OpenSSL, looked up at the first connection over TLS.
    static let openSSL: TLSLibrary? = (try? shared()).flatMap {
        $0.usesOpenSSL ? TLSLibrary(of: $0.handle) : nil
    }

    private init() throws(FetchError) {
        var functions = swcurl_functions()
        // Lazily: its thirty libraries have thousands of symbols that an HTTP fetch never calls.
        handle = try SystemLibrary.open(
            [["libcurl.so.4"], ["libcurl-gnutls.so.4"]], RTLD_LAZY | swposix_library_scope(1),
            for: "HTTP needs libcurl", in: "libcurl4"
        ) { swcurl_load($0, &functions) }
        guard functions.curl_global_init(Int(swcurl_global_default)) == CURLE_OK,
            let version = functions.curl_version_info(swcurl_version_now)?.pointee
        else { throw FetchError(.notBuiltIn, .input, "libcurl could not be initialised") }
        let table = UnsafeMutablePointer<swcurl_functions>.allocate(capacity: 1)
        table.initialize(to: functions)
        self.functions = UnsafePointer(table)
        let tls = version.ssl_version.map { String(cString: $0) } ?? ""
        usesOpenSSL = tls.hasPrefix("OpenSSL/3.") || tls.hasPrefix("OpenSSL/4.")
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

extension CurlTransfer {
    /// A more precise error than libcurl's code alone gives: it has one code for several causes.
    fileprivate func verdict(
        on code: CURLcode, _ message: String
    ) -> (Outcome, FetchError.Phase)? {
        let isConnected = requestBegan != nil
        // A server or proxy was reached that may have caused the failure.
        let hasPeer = isConnected || count(CURLINFO_CONNECT_TIME_T) > 0
        // libcurl's functions return such codes for a header field that they cannot parse, or a
        // body that they cannot decode.
        let broken: (Outcome, FetchError.Phase) =
            hasReply
            ? (.protocolError, .body)
            : endpoint.security == .tls && !isConnected ? (.tls, .tls) : (.protocolError, .header)
        let isCutOff = Self.isCutOff(message)
        switch code {
        case CURLE_RECV_ERROR where !hasReply && Self.demandsIdentity(message):
            return (.needsIdentity, .tls)
        case CURLE_RECV_ERROR where !hasReply && tunnelStatus >= 300: return (.proxy, .proxy)
        case CURLE_RECV_ERROR where isCutOff && !hasReply: return (.emptyReply, .header)
        case CURLE_RECV_ERROR where (errorNumber != 0 || isCutOff) && hasReply,
            CURLE_HTTP2 where hasReply, CURLE_HTTP2_STREAM where hasReply:
            return (.truncated, .body)
        // Bad chunks, too many header fields: the network did its part.
        case CURLE_RECV_ERROR where errorNumber == 0 && isConnected:
            return (.protocolError, hasReply ? .body : .header)
        // No address of the family asked for, so none was tried.
        case CURLE_COULDNT_CONNECT where errorNumber == 0: return (.resolve, .resolve)
        // A reply that is not HTTP/1 or later.
        case CURLE_UNSUPPORTED_PROTOCOL where hasPeer: return (.protocolError, .header)
        // The unpacked data of a paused transfer.
        case CURLE_OUT_OF_MEMORY where isPaused: return (.tooLarge, .body)
        // With a server, a header line beyond libcurl's own limit; before, a lack of threads,
        // descriptors or memory, which may be temporary.
        case CURLE_OUT_OF_MEMORY where !hasPeer, CURLE_FAILED_INIT where !hasPeer:
            let isResolved = count(CURLINFO_NAMELOOKUP_TIME_T) > 0
            return isResolved ? (.connect, .connect) : (.resolve, .resolve)
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_WRITE_ERROR,
            CURLE_BAD_FUNCTION_ARGUMENT where hasPeer, CURLE_UNKNOWN_OPTION where hasPeer:
            return broken
        default: return nil
        }
    }

    /// True if TLS ended with the server's demand for a client certificate. TLS 1.3 sends it after
    /// the handshake, and libcurl has no code for that: only OpenSSL's message tells.
    private static func demandsIdentity(_ message: String) -> Bool {
        message.contains(text: "alert certificate required")
    }

    /// True if the connection ended before TLS did. libcurl reports it since 8.14, in OpenSSL's
    /// message.
    fileprivate static func isCutOff(_ message: String) -> Bool {
        message.contains(text: "unexpected eof while reading")
    }
}

extension FetchError {
    /// Maps libcurl's error to an outcome, and keeps its message.
    init(curl code: CURLcode, _ message: String, of transfer: CurlTransfer) {
        let (outcome, phase) = transfer.verdict(on: code, message) ?? Self.verdict(on: code)
        // libcurl's message blames the caller of its own function.
        let isBadField = code == CURLE_BAD_FUNCTION_ARGUMENT && outcome == .protocolError
        let isCutOff = code == CURLE_RECV_ERROR && CurlTransfer.isCutOff(message)
        let isForeign = message.contains(text: "HTTP/0.9") && !transfer.hasReply
        let words =
            isBadField
            ? "the reply has a malformed header field"
            : isCutOff
                ? "the server closed without a TLS close_notify"
                : isForeign ? "the server answers with something other than HTTP" : message
        let isPlain = message.contains(text: "wrong version number")
        let isAlone = code == CURLE_SSL_CACERT_BADFILE
        self.init(
            outcome, phase,
            isPlain
                ? "the server answers without TLS"
                : isAlone ? "cannot read the certificate authorities: \(words)" : words,
            hint: isPlain
                ? "check that this port speaks TLS"
                : isAlone
                    ? "install the package ca-certificates, or name their file with SSL_CERT_FILE"
                    : Self.hint(
                        isForeign || outcome == .receive && !transfer.hasReply
                            ? .emptyReply : outcome))
        remedy = Self.remedy(outcome)
        // Another failure leaves the number of some earlier call.
        if [.connect, .send, .receive].contains(outcome), transfer.errorNumber != 0 {
            errnoName = SystemError(number: Int32(clamping: transfer.errorNumber)).name
        }
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
        // The only timeout that libcurl watches itself.
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
        // Errors of our own calls, as long as there is no server.
        case CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNKNOWN_OPTION: (.internal, .input)
        default: (.receive, .body)
        }
    }

    private static func hint(_ outcome: Outcome) -> String? {
        switch outcome {
        case .resolve: "check the spelling of the host and the network connection"
        case .connect: "check the port, and that the server is running"
        case .emptyReply: "check that this port does not speak TLS, or another protocol"
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

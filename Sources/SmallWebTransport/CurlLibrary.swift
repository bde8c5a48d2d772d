// SPDX-License-Identifier: MIT
internal import CSmallWebCurl
internal import Glibc
internal import SmallWebCore

/// libcurl, opened at the first use in the process.
//
// @unchecked: function pointers that nobody changes after `init`.
final class CurlLibrary: @unchecked Sendable {
    private(set) var functions = swcurl_functions()
    /// Whether its TLS is the OpenSSL that we open ourselves, whose objects we may then look at.
    let usesOurOpenSSL: Bool
    /// `libcurl/7.88.1 OpenSSL/3.0.19 …`, and the schemes it can fetch.
    let protocols: [String]

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
        else { throw FetchError(.internal, .input, "libcurl could not be initialised") }
        self.functions = functions
        let tls = version.ssl_version.map { String(cString: $0) } ?? ""
        usesOurOpenSSL = tls.hasPrefix("OpenSSL/3.")
        var names: [String] = []
        var next = version.protocols
        while let name = next?.pointee {
            names.append(String(cString: name))
            next = next?.advanced(by: 1)
        }
        protocols = names
    }
}

extension FetchError {
    /// libcurl's error as one of ours, with its own words.
    init(curl code: CURLcode, _ message: String) {
        let (outcome, phase): (Outcome, Phase) =
            switch code {
            case CURLE_UNSUPPORTED_PROTOCOL: (.unsupportedScheme, .input)
            case CURLE_URL_MALFORMAT: (.badURL, .input)
            case CURLE_NOT_BUILT_IN: (.notBuiltIn, .input)
            case CURLE_COULDNT_RESOLVE_PROXY: (.proxyResolve, .resolve)
            case CURLE_COULDNT_RESOLVE_HOST: (.resolve, .resolve)
            case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: (.connect, .connect)
            case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3,
                CURLE_BAD_CONTENT_ENCODING, CURLE_UNRECOVERABLE_POLL:
                (.protocolError, .header)
            case CURLE_PARTIAL_FILE: (.truncated, .body)
            case CURLE_WRITE_ERROR: (.write, .output)
            case CURLE_READ_ERROR: (.read, .send)
            case CURLE_OPERATION_TIMEDOUT: (.timeout, .body)
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
            case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_BAD_FUNCTION_ARGUMENT,
                CURLE_UNKNOWN_OPTION:
                (.internal, .input)
            default: (.receive, .body)
            }
        self.init(outcome, phase, message, hint: Self.hint(outcome))
    }

    private static func hint(_ outcome: Outcome) -> String? {
        switch outcome {
        case .untrusted: "name the authority with SSL_CERT_FILE, or look without trust by -k"
        case .trustChanged: "the server's key is not the one that --pin names"
        case .timeout: "allow more time with --connect-timeout or --max-time"
        case .resolve: "check the spelling of the host and the network connection"
        case .connect: "check the port, and that the server is running"
        default: nil
        }
    }
}

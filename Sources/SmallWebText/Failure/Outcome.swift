// SPDX-License-Identifier: MIT

/// The result of a fetch, in one vocabulary for all protocols.
///
/// The raw value is the JSON word, ``exitStatus`` the process exit status, and ``summary`` the
/// sentence of the manual page's table. Never reword or renumber one: programs depend on them.
/// Statuses 1 to 100 have curl's meaning of the number, except ``temporaryFailure``.
@nonexhaustive
public enum Outcome: String, CaseIterable, Sendable, Hashable, Codable {
    /// The server answered with success, and the body was delivered.
    case ok
    /// No plugin handles the scheme, or it is not an allowed one.
    case unsupportedScheme = "unsupported-scheme"
    /// The request cannot be made as it is; for programs a mistake of the caller.
    case usage
    /// The URL cannot be parsed, or cannot be sent safely.
    case badURL = "bad-url"
    /// A system library that the scheme needs is missing.
    case notBuiltIn = "not-built-in"
    /// The proxy's host name was not resolved.
    case proxyResolve = "proxy-resolve"
    /// The host name was not resolved.
    case resolve
    /// The connection was refused, impossible, or reset before any data.
    case connect
    /// The reply breaks the rules of its protocol.
    case protocolError = "protocol-error"
    /// The reply ended before it was complete.
    case truncated
    /// The server refused for good.
    case permanentFailure = "permanent-failure"
    /// A file, or another output of this machine, cannot be written.
    case write
    /// A file, or an upload, cannot be read.
    case read
    /// A limit of time was over.
    case timeout
    /// The TLS handshake failed.
    case tls
    /// The limit of redirects was reached, or they form a loop.
    case tooManyRedirects = "too-many-redirects"
    /// The server closed the connection without a byte.
    case emptyReply = "empty-reply"
    /// The request was not sent in full.
    case send
    /// The connection broke during the reply.
    case receive
    /// A client certificate or its key cannot be read, or has expired.
    case identityUnusable = "identity-unusable"
    /// The server's key is not trusted.
    case untrusted
    /// The body, or a part of it that is held, is beyond its limit.
    case tooLarge = "too-large"
    /// The server refused for now.
    case temporaryFailure = "temporary-failure"
    /// The server's key is not the one that is known, or was asked for.
    case trustChanged = "trust-changed"
    /// The proxy refused, or broke its protocol.
    case proxy
    /// The server asks for a client certificate.
    case needsIdentity = "needs-identity"
    /// The server asks for input.
    case needsInput = "needs-input"
    /// A redirect leads to where it is not followed.
    case redirectRefused = "redirect-refused"
    /// A replay: no recording has the request.
    case notRecorded = "not-recorded"
    /// The server's robots file forbids it, and it was asked.
    case robots
    /// The address is private, and only public ones are allowed.
    case refusedAddress = "refused-address"
    /// A program or handler that speaks the protocol broke its rules, or crashed.
    case plugin
    /// A bug in this library.
    case `internal`
    /// The task was cancelled; on the command line by a signal.
    case interrupted
}

extension Outcome {
    /// The process exit status. There is no `default`: a new outcome does not compile without one.
    public var exitStatus: Int32 {
        switch self {
        case .ok: 0
        case .unsupportedScheme: 1
        case .usage: 2
        case .badURL: 3
        case .notBuiltIn: 4
        case .proxyResolve: 5
        case .resolve: 6
        case .connect: 7
        case .protocolError: 8
        case .truncated: 18
        case .permanentFailure: 22
        case .write: 23
        case .read: 26
        case .timeout: 28
        case .tls: 35
        case .tooManyRedirects: 47
        case .emptyReply: 52
        case .send: 55
        case .receive: 56
        case .identityUnusable: 58
        case .untrusted: 60
        case .tooLarge: 63
        case .temporaryFailure: 75
        case .trustChanged: 90
        case .proxy: 97
        case .needsIdentity: 98
        case .needsInput: 101
        case .redirectRefused: 102
        case .notRecorded: 103
        case .robots: 104
        case .refusedAddress: 105
        case .plugin: 110
        case .internal: 125
        // The signal is raised again, so a shell shows 130 (SIGINT) or 143 (SIGTERM).
        case .interrupted: 130
        }
    }

    /// True if the same request may succeed later.
    public var isRetryable: Bool {
        switch self {
        case .resolve, .connect, .timeout, .temporaryFailure, .emptyReply, .send, .receive,
            .truncated, .proxyResolve:
            true
        default:
            false
        }
    }

    /// One sentence, without a full stop, for the manual and as a fallback message.
    public var summary: String {
        switch self {
        case .ok: "The server answered with success and the body was delivered"
        case .unsupportedScheme: "No plugin handles the scheme, or --proto refuses it"
        case .usage: "A bad option, command or request line"
        case .badURL: "The URL cannot be parsed or cannot be sent safely"
        case .notBuiltIn: "A system library that this scheme or feature needs is missing"
        case .proxyResolve: "The proxy's host name could not be resolved"
        case .resolve: "The host name could not be resolved"
        case .connect: "The connection was refused, unreachable, or reset before any data"
        case .protocolError: "The reply breaks the rules of its protocol"
        case .truncated: "The reply ended before it was complete"
        case .permanentFailure: "The server refused for good, for example Gemini 51 or Spartan 4"
        case .write: "Local output failed: disk full, cannot create the file, not for a terminal"
        case .read: "A local input file, list or upload could not be read"
        case .timeout: "A connect, read or total time limit passed"
        case .tls: "The TLS handshake failed"
        case .tooManyRedirects: "The redirect limit was reached, or redirects form a loop"
        case .emptyReply: "The server closed the connection without a single byte"
        case .send: "Sending the request failed"
        case .receive: "Receiving the reply failed"
        case .identityUnusable: "A client certificate or key cannot be loaded or has expired"
        case .untrusted: "The server's certificate is not trusted"
        case .tooLarge: "The body is larger than --max-filesize"
        case .temporaryFailure: "The server refused for now, for example Gemini 41 or Spartan 5"
        case .trustChanged: "The server's key is not the one that was pinned"
        case .proxy: "The proxy refused or broke its protocol"
        case .needsIdentity: "The server asks for a client certificate"
        case .needsInput: "The server asks for input: give it with --data"
        case .redirectRefused: "A redirect leads where following is not allowed"
        case .notRecorded: "A replay: no recording has this request"
        case .robots:
            "The robots file of the server forbids it, and --robots or crawl was asked for"
        case .refusedAddress: "The address is not a public one, and --public-only was asked for"
        case .plugin: "A helper program crashed or broke its protocol"
        case .internal: "A bug in smallweb; please report it"
        case .interrupted:
            "Stopped by a signal, which is raised again, by --deadline or --max-pages"
        }
    }
}

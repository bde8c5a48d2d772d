// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebTransport

/// What the command line asks for, as plain values. Work starts after it is complete.
struct Settings: Sendable {
    enum When: String, Sendable, CaseIterable {
        case auto, always, never
    }

    /// What to do with the body of a refusal.
    enum Refusal: Sendable {
        /// Say what was refused, exit with its status.
        case fail
        /// The same, but deliver the body.
        case failWithBody
        /// Deliver the body and count it as success.
        case accept
    }

    var wantsHelp = false
    var wantsVersion = false
    var operands: [String] = []

    /// The n-th goes with the n-th URL; `-` is standard output.
    var outputs: [String] = []
    var usesRemoteName = false
    var outputDirectory: String?
    var createsDirectories = false
    var refusal = Refusal.fail
    var showsHeader = false
    var headerFile: String?
    var wantsRawBody = false

    var redirects = RedirectPolicy()
    var allowedSchemes: Set<String>?

    var input: [UInt8]?
    var promptsAllowed = true
    /// URLs at the same time, and of them at the same host.
    var jobs = 1
    var jobsPerHost = 2

    var connectSeconds = 15.0
    var readSeconds = 60.0
    var totalSeconds = 0.0
    /// `nil` for the default, which depends on where the body goes.
    var bodyBytesMax: Int?

    /// For `refs`.
    var refs = RefQuery()
    var failsWithoutMatch = false

    var http = HTTPOptions()
    var connection = {
        var settings = HTTPSettings()
        settings.userAgent = "smallweb/\(Help.version)"
        return settings
    }()
    /// `-C`: nothing, what is there already, or an offset.
    enum Resume: Sendable, Hashable {
        case fromStart, fromFile
        case from(Int)
    }
    var resume = Resume.fromStart
    /// Whether libcurl may fetch what no plugin does.
    var fallsBackToCurl = false

    var skipsTrust = false
    var family = AddressFamily.any
    var resolverOverrides: [String: [String]] = [:]

    var color = When.auto
    var isQuiet = false
    var isSilent = false
    var showsErrorsWhenSilent = false
    var isVerbose = false

    /// The schemes of this run.
    func registry() throws(FetchError) -> Registry {
        fallsBackToCurl ? try .builtInWithCurl() : .builtIn
    }

    var showsErrors: Bool { !isSilent || showsErrorsWhenSilent }
    var showsNotes: Bool { !isQuiet && !isSilent }
}

/// A mistake on the command line.
func usageError(_ message: String, hint: String? = nil) -> FetchError {
    FetchError(.usage, .input, message, hint: hint)
}

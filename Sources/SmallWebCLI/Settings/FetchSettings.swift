// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// Settings for the request, its limits and the criteria of success.
struct FetchSettings: Sendable {
    var redirects = RedirectPolicy()
    /// Lists of schemes, unparsed.
    var redirectSchemes: String?
    var schemes: String?

    /// True if URLs of the command line may be files of this machine.
    var readsFiles = false
    /// `--from-dir`, and the URL whose pages are in it.
    var served: (directory: String, url: String)?
    /// The type to read pages as, and what their links are relative to; `nil` for those they have.
    var (contentType, base) = (MediaType?.none, String?.none)

    var input: InputSource.Origin?
    /// True if the input came from a file and must not be recorded.
    var isInputSecret = false
    var promptsAllowed = true
    /// Values of the options that plugins declare.
    var options = Request.Options()
    /// Unparsed values of repeatable plugin options: the text itself, or `@FILE` for the lines of a
    /// file.
    var lists: [(option: Request.Option, value: String)] = []
    /// By option key: files with secrets, and secrets to ask for.
    var secretFiles: [String: String] = [:]
    var secretsToAsk: Set<String> = []
    /// `--netrc`, and the parsed file once it is read.
    var usesNetrc = false
    private(set) var netrc: Netrc?
    var upload: Request.Upload?
    var deletes = false
    var referencePatterns: [String]?
    var failsWithoutMatch = false

    var wantsRawBody = false
    /// True if an empty reply is a success, even if the protocol calls it a failure.
    var allowsEmptyReply = false
    /// `-I`, `head`: the reply without its body.
    var wantsHeadAlone = false
    /// `-C`: start from the beginning, continue the file, or from an offset.
    enum Resume: Sendable, Hashable {
        case fromStart, fromFile
        case from(Int)
    }
    var resume = Resume.fromStart
    var condition: RequestCondition?
    /// A file for `--time-cond` that is not there yet, and one that is: a newer page replaces it.
    var (missingFile, datedFile): (String?, String?)

    enum Refusal: Sendable {
        /// Print an error and exit with its status.
        case fail
        /// Like `fail`, but deliver the body.
        case failWithBody
        /// Deliver the body and count it as success.
        case accept
    }
    var refusal = Refusal.fail

    var connectSeconds = 15.0
    var readSeconds = 60.0
    var totalSeconds = 0.0
    /// `nil` for the default, which depends on the destination.
    var bodyBytesMax: Int?
    /// Rate limit for the body; 0 for none.
    var bytesPerSecond = 0

    /// Sets limits of time; 0 in these settings stands for none.
    func limit(_ limits: inout Limits) {
        limits.connectSeconds = connectSeconds > 0 ? connectSeconds : nil
        limits.idleSeconds = readSeconds > 0 ? readSeconds : nil
        limits.totalSeconds = totalSeconds > 0 ? totalSeconds : nil
    }

    /// An error page must not be appended to the beginning of a body saved earlier.
    var keepsRefusals: Bool { refusal != .fail && resume == .fromStart }

    /// Reads the files of options that apply to all URLs, once for the run.
    ///
    /// - Throws: `read`, `usage` for an invalid line.
    mutating func readFiles() throws(FetchError) {
        if let input {
            isInputSecret = input.isSecret
            self.input = .bytes(try input.read(within: totalSeconds))
        }
        try readLists()
    }

    /// Reads the files of plugin options, and ~/.netrc.
    mutating func readLists() throws(FetchError) {
        for (option, value) in lists {
            for line in try InputSource.lines(value) {
                try option.check(line)
                options.append(line, to: option.key)
            }
        }
        lists = []
        if usesNetrc && netrc == nil { netrc = try Netrc.read() }
    }
}

struct RecordSettings: Sendable {
    var areWanted = false
    var options = RecordOptions()
    /// `--slice`, without records, too.
    var slice: TextRange?
    var keepsInputOrder = false
    /// True to leave out the record of a page that was fetched: its links have theirs.
    var areOnlyLinks = false
    /// `nil` for a summary of several URLs.
    var wantsSummary: Bool?
}

/// Settings for choosing the URLs of a run and running their requests.
struct RunSettings: Sendable {
    /// Lists of requests, as operands.
    var lists: [String] = []
    /// Part of the hosts to fetch; `nil` for all.
    var shard: Shard?
    /// For `shard`: true to print `host:port` for each line.
    var showsAuthority = false
    var policy = RunPolicy()

    var status = Verdict.Rule.first

    var ledger: String?
    /// Requests in a row that the ledger knows, after which a list ends.
    var knownMax = Int.max
    /// Outcomes to fetch again; `nil` for all but `ok`.
    var ledgerOutcomes: Set<Outcome>?
}

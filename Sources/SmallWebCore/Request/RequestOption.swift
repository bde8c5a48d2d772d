// SPDX-License-Identifier: MIT

extension Request {
    /// An option of one protocol's requests, as data: the command line's parser, help, manual,
    /// completion and config file treat it like built-in options, and a request carries its value.
    public struct Option: Sendable {
        /// The kind of value.
        @nonexhaustive
        public enum Kind: Sendable, Hashable {
            /// No value: given or not.
            case flag
            /// The value's name in help texts.
            case text(String)
            /// Like `text`, but repeatable: the values are kept in order.
            case list(String)
            /// Bytes that are never an argument: they are read from a file or a prompt.
            case secret
        }

        /// The requests that accept the option.
        @nonexhaustive
        public enum Purpose: Sendable, Hashable {
            /// Requests for a page.
            case fetches
            /// Requests for a list of references.
            case references
            /// Uploads alone.
            case uploads
            /// Both requests for a page and uploads.
            case fetchesAndUploads
            /// For the commands that the plugin declares (``Verb``).
            case verbs
        }

        /// The option's long name, under which its value is in ``Request/Properties/options``.
        public let key: String
        /// The letter after `-`; `nil` for none.
        public let short: Character?
        /// The kind of its value.
        public let kind: Kind
        /// The requests that accept it.
        public let purpose: Purpose
        /// Its heading in help texts and manual.
        public let group: String
        /// For help: a few words.
        public let summary: String
        /// For the manual: full sentences. For a secret: a noun phrase of a few words.
        public let manual: String
        /// An example command line.
        public let example: String
        /// Values for shell completion.
        public let values: [String]
        /// The schemes that accept it; `nil` for all of the plugin.
        public private(set) var schemes: Set<String>?
        /// The key in the URL's query that takes its value; `nil` for an option that is not in
        /// URLs.
        public private(set) var urlKey: String?
        /// Checks one value.
        ///
        /// - Throws: `usage`.
        public let check: @Sendable (String) throws(FetchError) -> Void

        /// An option of all schemes of its plugin.
        public init(
            _ key: String, short: Character? = nil, _ kind: Kind, for purpose: Purpose = .fetches,
            _ texts: Texts, values: [String] = [],
            check: @escaping @Sendable (String) throws(FetchError) -> Void = { _ in }
        ) {
            self.key = key
            self.short = short
            self.kind = kind
            self.purpose = purpose
            group = texts.group
            summary = texts.summary
            manual = texts.manual
            example = texts.example
            self.values = values
            self.check = check
        }

        /// An option's texts for people.
        public struct Texts: Sendable {
            /// Its heading.
            public let group: String
            /// One line for `--help`.
            public let summary: String
            /// The paragraph of the manual.
            public let manual: String
            /// An example command line.
            public let example: String

            /// All four texts.
            public init(_ group: String, _ summary: String, manual: String, example: String) {
                self.group = group
                self.summary = summary
                self.manual = manual
                self.example = example
            }
        }

        /// The media type of an upload, for protocols that send one.
        package static let uploadType = Request.Option(
            "mime", .text("TYPE"), for: .uploads,
            .init(
                uploads, "put: the media type",
                manual: "The media type of an upload. Without it the file's name decides.",
                example: "smallweb put --mime text/plain titan://example.org/notes notes")
        ) { text throws(FetchError) in
            let isSafe = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3F }
            guard isSafe, text.contains("/"), !text.contains("#") else {
                throw usageError("invalid media type \"\(text)\"")
            }
        }

        package static let uploadToken = Request.Option(
            "token", .secret, for: .uploads,
            .init(
                uploads, "the token", manual: "the token that an upload may need",
                example: "titan://example.org/a.gmi a.gmi"))

        private static let uploads = "Uploads (put, edit)"

        /// A copy whose value is a part of the URL.
        public func inURL(as key: String) -> Request.Option {
            var option = self
            option.urlKey = key
            return option
        }

        /// A copy for these schemes alone.
        public func limited(to schemes: Set<String>) -> Request.Option {
            var option = self
            option.schemes = schemes
            return option
        }
    }

    /// The values of a request's options, by their keys.
    public struct Options: Sendable, Hashable {
        /// The value given to an option.
        @nonexhaustive
        public enum Value: Sendable, Hashable {
            /// Given or not.
            case flag(Bool)
            /// Text.
            case text(String)
            /// Texts in order.
            case list([String])
            /// Bytes that are never shown.
            case secret([UInt8])
        }

        private var values: [String: Value] = [:]

        /// No options.
        public init() {}

        /// True if no option was given.
        public var isEmpty: Bool { values.isEmpty }
        /// The options that were given.
        public var keys: Set<String> { Set(values.keys) }

        /// The value of an option; `nil` removes it.
        public subscript(key: String) -> Value? {
            get { values[key] }
            set { values[key] = newValue }
        }

        /// False when it was not given.
        public func flag(_ key: String) -> Bool { values[key] == .flag(true) }

        /// The value of an option that has one text.
        public func text(_ key: String) -> String? {
            if case .text(let text) = values[key] { text } else { nil }
        }

        /// The values of an option that may be repeated; empty when it was not given.
        public func list(_ key: String) -> [String] {
            if case .list(let list) = values[key] { list } else { [] }
        }

        /// The value of an option that must not be shown.
        public func secret(_ key: String) -> [UInt8]? {
            if case .secret(let bytes) = values[key] { bytes } else { nil }
        }

        /// All values that must not be shown.
        package var secrets: [[UInt8]] {
            values.values.compactMap { if case .secret(let bytes) = $0 { bytes } else { nil } }
        }

        /// The options of a request to a place that the secrets are not for.
        package var withoutSecrets: Options {
            var options = self
            options.values = values.filter { if case .secret = $0.value { false } else { true } }
            return options
        }

        /// Adds one value of an option that may be repeated.
        public mutating func append(_ value: String, to key: String) {
            values[key] = .list(list(key) + [value])
        }
    }
}

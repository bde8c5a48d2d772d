// SPDX-License-Identifier: MIT

/// An option of one protocol's requests, as data: the command line's parser, help, manual,
/// completion and config file treat it like their own, and a request carries its value.
public struct RequestOption: Sendable {
    public enum Kind: Sendable, Hashable {
        case flag
        /// The value's name in help texts.
        case text(String)
        /// The same, repeatable: the values are kept in order.
        case list(String)
        /// Bytes that are never an argument: they come from a file, or are asked for.
        case secret
    }

    /// Which requests have a use for it.
    public enum Purpose: Sendable, Hashable {
        case fetches, references, uploads
    }

    /// The option's long name, under which its value is in ``Request/options``.
    public let key: String
    public let short: Character?
    public let kind: Kind
    public let purpose: Purpose
    /// The heading of help texts and manual that it stands under.
    public let group: String
    /// For help: a few words.
    public let summary: String
    /// For the manual: full sentences. For a secret: what it is, in a few words.
    public let manual: String
    /// A command line that shows it at work.
    public let example: String
    /// What a shell offers.
    public let values: [String]
    /// The schemes that know it; `nil` for all of the plugin.
    public let schemes: Set<String>?
    /// Checks one value.
    ///
    /// - Throws: `usage`.
    public let check: @Sendable (String) throws(FetchError) -> Void

    public init(
        _ key: String, short: Character? = nil, _ kind: Kind, for purpose: Purpose = .fetches,
        group: String, _ texts: Texts, values: [String] = [], schemes: Set<String>? = nil,
        check: @escaping @Sendable (String) throws(FetchError) -> Void = { _ in }
    ) {
        self.key = key
        self.short = short
        self.kind = kind
        self.purpose = purpose
        self.group = group
        summary = texts.summary
        manual = texts.manual
        example = texts.example
        self.values = values
        self.schemes = schemes
        self.check = check
    }

    /// What people read about an option.
    public struct Texts: Sendable {
        public let summary: String
        public let manual: String
        public let example: String

        public init(_ summary: String, manual: String, example: String) {
            self.summary = summary
            self.manual = manual
            self.example = example
        }
    }

    /// The same option for these schemes alone.
    public func limited(to schemes: Set<String>) -> RequestOption {
        RequestOption(
            key, short: short, kind, for: purpose, group: group,
            Texts(summary, manual: manual, example: example), values: values, schemes: schemes,
            check: check)
    }
}

/// The values of a request's options, by their keys.
public struct RequestOptions: Sendable, Hashable {
    public enum Value: Sendable, Hashable {
        case flag(Bool)
        case text(String)
        case list([String])
        case secret([UInt8])
    }

    private var values: [String: Value] = [:]

    public init() {}

    public var isEmpty: Bool { values.isEmpty }
    public var keys: Set<String> { Set(values.keys) }

    public subscript(key: String) -> Value? {
        get { values[key] }
        set { values[key] = newValue }
    }

    /// False when it was not given.
    public func flag(_ key: String) -> Bool { values[key] == .flag(true) }

    public func text(_ key: String) -> String? {
        if case .text(let text) = values[key] { text } else { nil }
    }

    public func list(_ key: String) -> [String] {
        if case .list(let list) = values[key] { list } else { [] }
    }

    public func secret(_ key: String) -> [UInt8]? {
        if case .secret(let bytes) = values[key] { bytes } else { nil }
    }

    public mutating func append(_ value: String, to key: String) {
        values[key] = .list(list(key) + [value])
    }
}

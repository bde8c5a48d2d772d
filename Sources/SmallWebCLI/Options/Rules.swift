// SPDX-License-Identifier: MIT
internal import SmallWeb

/// A row of the rules of options that stand together, the one place that decides this.
///
/// A row is about options that are turned on. Its condition sees their values.
struct Rule: Sendable {
    enum Kind: Sendable {
        /// Refused together. One on the command line overrides the others of config files.
        case rivals
        /// Allowed together. One on the command line overrides the others of config files.
        case overrides
        /// Refused if one of the others is on, in a config file as well.
        case without
        /// Refused unless one of the others is on, in a config file as well.
        case with
    }

    typealias Condition = @Sendable (Settings, _ operands: [String]) -> Bool

    let kind: Kind
    let options: [Option.ID]
    /// Empty for a row that holds among `options`.
    let others: [Option.ID]
    /// The end of the message; `nil` for the usual one.
    let words: String?
    let hint: String?
    /// True if options of a config file are refused, too.
    let isForFiles: Bool
    let condition: Condition?

    init(
        _ kind: Kind, _ options: [Option.ID], _ others: [Option.ID] = [], _ words: String? = nil,
        hint: String? = nil, isForFiles: Bool = false, if condition: Condition? = nil
    ) {
        (self.kind, self.options, self.others) = (kind, options, others)
        (self.words, self.hint) = (words, hint)
        (self.isForFiles, self.condition) = (isForFiles, condition)
    }

    /// - Returns: `nil` if the row refuses nothing.
    func refusal(_ settings: Settings, _ operands: [String]) -> FetchError? {
        let given = settings.invocation.on
        let isOn = { (option: Option.ID) in
            given.contains(option) || settings.invocation.inFiles.contains(option)
        }
        let found = options.filter { isForFiles ? isOn($0) : given.contains($0) }
        guard let first = found.first else { return nil }
        let other: Option.ID?
        switch kind {
        case .overrides: return nil
        case .rivals where others.isEmpty: other = found.dropFirst().first
        case .rivals: other = others.first(where: given.contains)
        case .without: other = others.first(where: isOn)
        case .with: other = others.contains(where: isOn) ? nil : first
        }
        guard let other, condition?(settings, operands) ?? true else { return nil }
        let names = "--\(first.rawValue)" + (kind == .with ? "" : " and --\(other.rawValue)")
        let usual = others.first.map { "needs a --\($0.rawValue)" } ?? ""
        return usageError(
            "\(names) \(words ?? (kind == .with ? usual : "exclude each other"))",
            hint: [first, other].lazy.compactMap { undoing($0, settings) }.first ?? hint)
    }

    /// The way out for an option that the user did not type.
    private func undoing(_ option: Option.ID, _ settings: Settings) -> String? {
        guard !settings.invocation.on.contains(option),
            let place = settings.origins[option.rawValue]
        else { return nil }
        let isFlag = if case .flag? = Option.of(option)?.action { true } else { false }
        let word = isFlag ? "--no-\(option.rawValue)" : "--no-config"
        return "\(place) has \(option.rawValue): \(word) is for one run"
    }

    /// The options of which one on the command line overrides `option` of a config file.
    func overriding(_ option: Option.ID) -> [Option.ID] {
        switch kind {
        case .with, .without: []
        case _ where others.isEmpty: options.contains(option) ? options : []
        case _ where others.contains(option): options
        case .rivals where options.contains(option): others
        default: []
        }
    }
}

extension Settings {
    /// The one judgement of the options of a command line, for every command.
    ///
    /// - Throws: `usage` for options that do not stand together.
    func checkRules(_ operands: [String]) throws(FetchError) {
        guard !invocation.on.isEmpty || !invocation.inFiles.isEmpty else { return }
        for rule in Rule.all {
            if let refusal = rule.refusal(self, operands) { throw refusal }
        }
    }

    /// Options that override `option` of a config file, and that one of a line overrides.
    func rivals(of option: Option) -> [Option.ID] {
        guard let id = option.id else { return [] }
        return Rule.all.flatMap { rule in
            let found = rule.overriding(id).filter { $0 != id }
            return found.isEmpty || rule.condition?(self, []) ?? true ? found : []
        }
    }
}

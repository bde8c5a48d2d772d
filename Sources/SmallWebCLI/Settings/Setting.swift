// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// An option with its value, as the command line, a config file or a line of a list has it.
struct Setting: Sendable {
    enum Origin: Sendable {
        case commandLine
        /// `FILE:LINE` of a config file.
        case file(String)
        /// A member of a line, in quotes.
        case member(String)
        /// A command that has another default.
        case command
    }

    let option: Option
    /// `nil` for a switch that is turned on.
    let value: String?
    let origin: Origin

    fileprivate var isOn: Bool {
        get throws(FetchError) {
            switch value {
            case nil, "true", "yes", "on", "1": return true
            case "false", "no", "off", "0": return false
            default: throw usageError("\(option.long) is true or false")
            }
        }
    }
}

extension Settings {
    /// Applies a setting: the only place where an option changes settings.
    ///
    /// - Throws: `usage` for an invalid value, without the line of a config file.
    mutating func apply(_ setting: Setting) throws(FetchError) {
        let option = setting.option
        var name = "--\(option.long)"
        switch setting.origin {
        case .commandLine: invocation.given.append(option.long)
        case .file(let line): origins[option.long] = line
        case .member(let member):
            name = member
            invocation.given.append(option.long)
            undoRivals(of: option)
        case .command: break
        }
        var isOn = true
        switch option.action {
        case .flag(let set):
            isOn = try setting.isOn
            set(&self, isOn)
        case .value(_, _, let set): try set(&self, setting.value ?? "", name)
        }
        guard let id = option.id else { return }
        if case .file = setting.origin { return invocation.inFiles.turn(id, isOn) }
        if case .command = setting.origin { return }
        invocation.on.turn(id, isOn)
    }

    /// Applies the defaults of a command.
    mutating func apply(_ defaults: [(option: Option.ID, value: String)]) throws(FetchError) {
        for (id, value) in defaults where !isSet(id) {
            guard let option = Option.of(id) else { continue }
            try apply(Setting(option: option, value: value, origin: .command))
        }
    }

    func isGiven(_ option: Option.ID) -> Bool { invocation.given.contains(option.rawValue) }

    /// True for an option of the command line or of a config file.
    func isSet(_ option: Option.ID) -> Bool { isGiven(option) || origins[option.rawValue] != nil }

    /// Applies the settings of a line.
    ///
    /// - Returns: True if it has some for connections or redirects.
    /// - Throws: `usage`, with the number of the line.
    mutating func apply(_ line: RequestLine) throws(FetchError) -> Bool {
        var changesFetcher = false
        do throws(FetchError) {
            // That could lead anywhere.
            if connection.isPublicOnly, line.settings.contains(where: { $0.member == "proxy" }) {
                throw usageError("with --public-only no line can choose its \"proxy\"")
            }
            for (member, value) in line.settings {
                guard let option = Option.ofMembers[member] else { continue }
                try apply(Setting(option: option, value: value, origin: .member("\"\(member)\"")))
                changesFetcher = changesFetcher || option.changesFetcher
            }
        } catch {
            throw line.located(error)
        }
        if let input = line.input {
            (fetch.input, fetch.isInputSecret) = (input, input.isSecret)
            invocation.given.append(Option.ID.data.rawValue)
        }
        return changesFetcher
    }

    /// A line of a list has the last word.
    private mutating func undoRivals(of option: Option) {
        for rival in rivals(of: option) where isSet(rival) { Option.of(rival)?.undo(in: &self) }
    }
}

extension [Option.ID] {
    fileprivate mutating func turn(_ option: Option.ID, _ isOn: Bool) {
        removeAll { $0 == option }
        if isOn { append(option) }
    }
}

extension Option {
    static func of(_ id: ID) -> Option? {
        own.first { $0.id == id && $0.group != .feeds } ?? all.first { $0.id == id }
    }

    /// Options of JSON lines, by the member that sets them. A member without one would be ignored.
    static let ofMembers: [String: Option] = {
        let members: KeyValuePairs<String, ID> = [
            "body": .body, "headers": .header, "identity": .identity, "max_filesize": .maxFilesize,
            "max_redirs": .maxRedirs, "max_time": .maxTime, "method": .request, "mime": .mime,
            "pin": .pin, "proxy": .proxy, "public_only": .publicOnly, "slice": .slice,
            "token_file": .tokenFile,
            "trust": .trust,
        ]
        return members.reduce(into: [:]) { $0[$1.key] = of($1.value) }
    }()

    /// True if it changes connections or redirects.
    var changesFetcher: Bool {
        group == .connection || id == .identity || id == .maxRedirs || id == .publicOnly
    }
}

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
            dropRivals(of: option.long)
        }
        switch option.action {
        case .flag(let set): set(&self, try setting.isOn)
        case .value(_, _, let set): try set(&self, setting.value ?? "", name)
        }
    }

    /// Applies the settings of a line.
    ///
    /// - Returns: True if it has some for connections or redirects.
    /// - Throws: `usage`, with the number of the line.
    mutating func apply(_ line: RequestLine) throws(FetchError) -> Bool {
        var changesFetcher = false
        do throws(FetchError) {
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
            invocation.given.append("data")
        }
        return changesFetcher
    }

    /// A line of a list has the last word.
    private mutating func dropRivals(of name: String) {
        switch name {
        case "identity": connection.certificateFile = nil
        case "trust", "pin": connection.skipsTrust = false
        case "token-file":
            fetch.options["token"] = nil
            invocation.given.append("token")
        default: break
        }
    }
}

extension Option {
    /// Options of JSON lines, by the member that sets them. A member without one would be ignored.
    static let ofMembers: [String: Option] = Dictionary(
        uniqueKeysWithValues: [
            ("body", "body"), ("headers", "header"), ("identity", "identity"),
            ("max_filesize", "max-filesize"), ("max_redirs", "max-redirs"),
            ("max_time", "max-time"), ("method", "request"), ("mime", "mime"), ("pin", "pin"),
            ("proxy", "proxy"), ("token_file", "token-file"), ("trust", "trust"),
        ].compactMap { member, name in Option.named(name[...]).map { (member, $0) } })

    /// True if it changes connections or redirects.
    var changesFetcher: Bool {
        group == .connection || long == "identity" || long == "max-redirs"
    }
}

// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let config = Command(
        "config [NAME]", operands: [.optionName], taker: .configured
    ) { settings, operands throws(FetchError) in
        let configuration = try Configuration.load(settings, keepsProblems: true)
        let path = UserFiles.path("XDG_CONFIG_HOME", ".config", "config") ?? "a file"
        guard operands.count < 2 else {
            let (name, value) = (operands[operands.count - 2], operands[operands.count - 1])
            throw usageError(
                "config changes nothing", hint: "write '\(name) = \(value)' into \(path)")
        }
        if let name = operands.first, Option.named(name[...]) == nil,
            !configuration.entries.contains(where: { $0.option.long == name })
        {
            let isAction =
                ["path", "file", "edit", "show", "list", "get", "set"].contains(name)
                || name.contains("=")
            throw usageError(
                "unknown option \"\(name)\"",
                hint: URI.scheme(of: name) != nil
                    ? "'smallweb explain \(name)' says which settings hold for it"
                    : isAction
                        ? "settings are lines such as 'jobs = 4' of \(path)"
                        : Nearest.question(name, among: Option.all.map(\.long))
                            ?? "'smallweb config --show-origin' lists the settings")
        }
        for problem in configuration.problems { Messages(settings.messages).error(nil, problem) }
        if configuration.entries.isEmpty, configuration.problems.isEmpty,
            configuration.warnings.isEmpty, !settings.records.areWanted,
            let path = UserFiles.path("XDG_CONFIG_HOME", ".config", "config")
        {
            try settings.note("no settings yet: \(path) is for lines such as 'jobs = 4'")
        }
        let entries = configuration.entries.filter {
            operands.first == nil || operands.first == $0.option.long
        }
        try settings.write(entries) {
            $0.members(of: $1)
        } text: {
            (settings.invocation.showsOrigin ? $0.origin + "\t" : "")
                + ($0.scope.section.map { "[\($0.kind) \($0.name)] " } ?? "")
                + "\($0.option.long) = \($0.shownValue)\n"
        }
        return 0
    }.with(\.optionNames, ["show-origin", "json"])
}

extension JSONWriter {
    mutating func members(of entry: Configuration.Entry) {
        begin("setting")
        member("section", object: entry.scope.section) { writer, section in
            writer.member(named: section.kind) { $0.value(section.name) }
        }
        member("name", entry.option.long)
        member("value", entry.shownValue)
        member("origin", entry.origin)
    }
}

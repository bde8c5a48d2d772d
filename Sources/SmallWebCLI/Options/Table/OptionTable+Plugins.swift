// SPDX-License-Identifier: MIT
internal import ExternalPlugin
internal import SmallWeb
internal import SmallWebPlugins

extension Option {
    static let programs: [Option] = [
        Option(
            .plugin, .connection, .value("PATH|NAME") { $0.connection.plugins.append($1) }
        ).with(\.values, .plugins),
        Option(.lang, .store, .choice("LANG") { $0.stores.language = $1 }),
    ]

    /// Options declared by built-in plugins, in the plugins' order; shared ones occur once.
    static let ofPlugins = made(from: Registry.builtIn.handlers.flatMap(\.options), besides: [])

    /// Finds an option in the table by name.
    ///
    /// - Parameter isWanted: Selects one if several commands have an option of this name.
    static func named(
        _ long: Substring, where isWanted: (Option) -> Bool = { _ in true }
    ) -> Option? {
        func isNamed(_ option: Option) -> Bool {
            option.long == long || option.aliases.contains(String(long))
        }
        // Only `feed` and `watch` have options with the names of others.
        let own = own.filter(isNamed)
        if own.count == 1, own[0].group != .feeds { return own[0] }
        guard let first = all.firstIndex(where: isNamed) else { return nil }
        // Most names are unique; then calling `isWanted` would create the command for nothing.
        let others = all[(first + 1)...].filter(isNamed)
        guard !others.isEmpty, !isWanted(all[first]) else { return all[first] }
        return others.first(where: isWanted) ?? all[first]
    }

    /// Finds an option in the table by its letter, in the same way.
    static func lettered(_ letter: Character, where isWanted: (Option) -> Bool) -> Option? {
        if let own = own.first(where: { $0.short == letter }), isWanted(own) { return own }
        let options = all.filter { $0.short == letter }
        return options.first(where: isWanted) ?? options.first
    }

    /// True if a plugin program must not declare this name, because the table has it or its `--no-`
    /// form.
    static func isTaken(_ name: String) -> Bool {
        let bare = name.hasPrefix("no-") ? String(name.dropFirst(3)) : name
        return [name, bare].contains { named($0[...]) != nil }
    }

    /// Options declared in the manifests of `plugins`, then of all installed programs. Read on
    /// demand: if an option is missing in the table, or if all are listed.
    static func ofPrograms(_ plugins: [String] = []) -> [Option] {
        let folders = plugins.compactMap { try? Settings.pluginFolder($0) } + PluginFolders.all()
        let manifests = folders.compactMap { try? $0.manifest.get() }
        return made(from: manifests.flatMap(\.options), besides: all)
    }

    private static func made(
        from declared: [Request.Option], besides known: [Option]
    ) -> [Option] {
        var options: [Option] = []
        for option in declared {
            let made = made(from: option)
            let isTaken = made.contains { new in
                [known, options].contains { $0.contains { $0.long == new.long } }
            }
            if !isTaken { options += made }
        }
        return options
    }

    private static func made(from option: Request.Option) -> [Option] {
        let key = option.key
        if case .secret = option.kind { return ofSecret(option) }
        let action: Action =
            switch option.kind {
            case .flag, .secret: .flag { $0.fetch.options[key] = .flag($1) }
            case .text(let name):
                .value(name) { settings, value throws(FetchError) in
                    try option.check(value)
                    settings.fetch.options[key] = .text(value)
                }
            case .list(let name):
                .value(name) { settings, value throws(FetchError) in
                    if !value.hasPrefix("@") { try option.check(value) }
                    settings.fetch.lists.append((option, value))
                }
            }
        var made = Option(
            nil, short: option.short, group(of: option), action,
            texts: .init(
                option.group, option.summary, manual: option.manual, example: option.example))
        if !option.values.isEmpty { made.values = .oneOf { option.values } }
        (made.long, made.key, made.urlKey) = (key, key, option.urlKey)
        return [made]
    }

    private static func group(of option: Request.Option) -> Group {
        let takers: Takers =
            switch option.purpose {
            // `refs` and the commands of plugins choose the method.
            case .fetches where option.key == Option.ID.request.rawValue:
                .downloads.subtracting([.edit, .refs, .verbs])
            case .fetches:
                option.urlKey == nil ? .downloads : .downloads.subtracting([.edit, .verbs])
            case .fetchesAndUploads: .fetches
            case .uploads: .uploads
            // The command of a plugin names its options.
            case .references, .verbs: .refs
            }
        // A part of the URL concerns a single resource, and so does a question.
        let isOfRun = option.urlKey != nil || [.references, .verbs].contains(option.purpose)
        return Group(option.group, takers: takers, scope: isOfRun ? .commandLine : .url)
    }

    /// Secrets are never arguments, as every user of the machine could read those.
    private static func ofSecret(_ option: Request.Option) -> [Option] {
        let (key, group, isForUploads) = (
            option.key, group(of: option), option.purpose == .uploads
        )
        let (command, put) = isForUploads ? ("put", "put: ") : ("get", "")
        let value = Option(
            nil, group,
            .value("VALUE") { settings, value in
                settings.fetch.options[key] = .secret(value.systemBytes)
            },
            texts: .init(
                option.group, option.summary, manual: option.manual, example: option.example)
        ).with(\.isSecret, true).with(\.long, key)
        let others = [
            Option(
                nil, group,
                .value("FILE") { settings, value in settings.fetch.secretFiles[key] = value },
                texts: .init(
                    option.group, "\(put)where \(option.summary) is",
                    manual: "A file with \(option.manual). It is never an argument, which every "
                        + "user of the machine could read.",
                    example: "smallweb \(command) --\(key)-file \(key) \(option.example)")
            ).with(\.long, "\(key)-file"),
            Option(
                nil, group,
                .flag { settings, isOn in
                    if isOn {
                        settings.fetch.secretsToAsk.insert(key)
                    } else {
                        settings.fetch.secretsToAsk.remove(key)
                    }
                },
                texts: .init(
                    option.group, "\(put)ask for \(option.summary)",
                    manual: "Asks at the terminal for \(option.manual), and does not show it.",
                    example: "smallweb \(command) --ask-\(key) \(option.example)")
            ).with(\.long, "ask-\(key)"),
        ]
        return ((isForUploads ? [] : [value]) + others).map { $0.with(\.key, key) }
    }
}

// SPDX-License-Identifier: MIT
internal import SmallWeb

extension Option {
    /// What the protocols declare, in the order of the plugins; what two of them share occurs once.
    static let ofPlugins: [Option] = {
        var options: [Option] = []
        for option in Settings.plugins.handlers.flatMap(\.options)
        where !options.contains(where: { $0.long == option.key }) {
            options += Option.made(from: option)
        }
        return options
    }()

    private static func made(from option: RequestOption) -> [Option] {
        let key = option.key
        if case .secret = option.kind { return ofSecret(option) }
        let action: Action =
            switch option.kind {
            case .flag, .secret: .flag { $0.requestOptions[key] = .flag($1) }
            case .text(let name):
                .value(name) { settings, value throws(FetchError) in
                    try option.check(value)
                    settings.requestOptions[key] = .text(value)
                }
            case .list(let name):
                .value(name) { settings, value throws(FetchError) in
                    for line in try InputSource.lines(value) {
                        try option.check(line)
                        settings.requestOptions.append(line, to: key)
                    }
                }
            }
        var made = Option(
            key, short: option.short, Group(title: option.group), option.summary,
            manual: option.manual, example: option.example,
            values: option.values.isEmpty ? nil : .oneOf { option.values }, action)
        made.purpose = option.purpose
        return [made]
    }

    /// A secret is never an argument, which every user of the machine could read.
    private static func ofSecret(_ option: RequestOption) -> [Option] {
        let key = option.key
        var options = [
            Option(
                "\(key)-file", Group(title: option.group), "put: where \(option.summary) is",
                manual: "A file with \(option.manual). It is never an argument, which every user "
                    + "of the machine could read.",
                example: "smallweb put --\(key)-file \(key) \(option.example)",
                .value("FILE") { settings, value in settings.secretFiles[key] = value }),
            Option(
                "ask-\(key)", Group(title: option.group), "put: ask for \(option.summary)",
                manual: "Asks at the terminal for \(option.manual), and does not show it.",
                example: "smallweb put --ask-\(key) \(option.example)",
                .flag { settings, isOn in
                    if isOn {
                        settings.secretsToAsk.insert(key)
                    } else {
                        settings.secretsToAsk.remove(key)
                    }
                }),
        ]
        for index in options.indices { options[index].purpose = option.purpose }
        return options
    }
}

// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebPlugins
internal import SmallWebRecords

extension Command {
    static var verbs: [Command] {
        Registry.builtIn.handlers.flatMap(\.verbs).map(Command.init)
    }

    private init(_ verb: Verb) {
        self.init(verb.synopsis, operands: [.url, .text], taker: .verbs) {
            settings, operands throws(FetchError) in
            try VerbCommand(verb, settings).run(operands)
        }
        self.verb = verb
        mainOptions = verb.optionKeys.map(\.option) + verb.options
        optionNames = mainOptions
        canUse = { scheme in
            Self.schemes(of: verb, in: Registry.builtIn).contains {
                $0.name == scheme.name || $0.webScheme == scheme.name
            }
        }
    }

    static func schemes(of verb: Verb, in registry: Registry) -> [Scheme] {
        registry.schemes.filter { scheme in
            registry[scheme.name]?.handler.verbs.contains { $0.name == verb.name } ?? false
        }
    }
}

/// A command declared by a protocol: it adds the options to the URL, and fetches the result.
private struct VerbCommand {
    let verb: Verb
    let settings: Settings

    init(_ verb: Verb, _ settings: Settings) { (self.verb, self.settings) = (verb, settings) }

    func run(_ operands: [String]) throws(FetchError) -> Int32 {
        let last = min(settings.invocation.lastOperands, operands.count)
        var words = Array(operands.dropLast(last))
        if words.count == 3, verb.synopsis.contains(text: " RANGE"), !words[0].contains(text: "..")
        {
            // As in git: two versions are a range.
            if URI.scheme(of: words[2]) != nil { words.insert(words.removeLast(), at: 0) }
            words[1...] = ["\(words[1])..\(words[2])"]
        }
        guard let url = words.first else {
            throw usageError("no URL", hint: "usage: smallweb \(verb.synopsis)")
        }
        let takesLast = verb.operandKey != nil || last == 0
        guard words.count <= 2, takesLast, words.count == 1 || verb.takesOperand else {
            throw usageError(
                "\(verb.name) does not take \"\(operands.last ?? "")\"",
                hint: "usage: smallweb \(verb.synopsis)")
        }
        if let other = words.dropFirst().first, other.contains(text: "://") {
            throw usageError(
                "\(verb.name) takes versions of one repository, and \"\(other)\" is a URL",
                hint: Advice.wayOut(verb.name))
        }
        var settings = settings
        try settings.fetch.readLists()
        var asked = try repository(url, settings).adding(
            queryField: verb.key, words.dropFirst().first?.systemBytes)
        // Options that are part of any URL are added by ``Settings/url(_:_:)``.
        for (option, key) in verb.optionKeys
        where Option.named(option[...], where: { $0.group != .feeds })?.urlKey == nil {
            for value in settings.fetch.options.fields(option) {
                asked = asked.adding(queryField: key, value)
            }
            settings.fetch.options[option] = nil
        }
        if let key = verb.operandKey {
            for word in operands.suffix(last) {
                asked = asked.adding(queryField: key, word.systemBytes)
            }
        }
        settings.list(.records)
        return try GetCommand(settings, [asked]).run()
    }

    /// The URL with a scheme that has the command.
    private func repository(
        _ url: String, _ settings: Settings
    ) throws(FetchError) -> String {
        let registry = try settings.registry()
        let schemes = Command.schemes(of: verb, in: registry)
        // The query that is added would be a part of the hint.
        let scheme = (try? URI(parsing: url))?.host == nil ? nil : URI.scheme(of: url)
        if schemes.contains(where: { $0.name == scheme }) { return url }
        // Accept the web URL of a repository, as copied from a browser.
        if let scheme, let own = schemes.first(where: { $0.webScheme == scheme }) {
            return own.name + url.dropFirst(scheme.count)
        }
        let names = schemes.map(\.name) + schemes.compactMap(\.webScheme)
        throw usageError(
            scheme.map { "the scheme \($0) has no \(verb.name)" }
                ?? "\"\(url)\" is not a URL",
            hint: Advice.repository(meantBy: url, registry)
                ?? scheme.flatMap { registry[$0] == nil ? nil : Advice.wayOut(verb.name) }
                ?? "\(verb.name) is for URLs of \(names.joined(separator: ", "))")
    }
}

extension Verb {
    /// True if the synopsis has an operand between the URL and `--`.
    fileprivate var takesOperand: Bool {
        let words = synopsis.split(separator: " ").dropFirst(2)
        return words.first.map { $0 != "[--" } ?? false
    }
}

// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebRecords

/// An option that a scheme does not have.
struct Misfit {
    let option: Option
    /// For a note on a setting of a config file; `nil` where only given options count.
    let reason: String?
    let refusal: FetchError

    /// False for a key that is demanded.
    var mayBeLeftOut: Bool { option.id != .trust && option.id != .pin }

    static func cannotCarryData(_ scheme: Scheme) -> FetchError {
        usageError("\(scheme.name) requests cannot carry --data")
    }
}

extension Settings {
    static let resumes: [Option.ID] = [.continue, .continueAt]

    /// Leaves out settings that do not fit the request. On the command line or in a line of a list
    /// such a setting is usually an error.
    ///
    /// - Parameter given: True to leave out those, too.
    /// - Returns: A note for each.
    mutating func leaveOut(
        _ misfits: [Misfit], for request: Request, given: Bool = false
    ) -> [Note] {
        var notes: [Note] = []
        for misfit in misfits {
            let name = misfit.option.long
            let isGiven = invocation.given.contains(name)
            guard !isGiven || given && misfit.mayBeLeftOut else { continue }
            let place = isGiven ? "--" : origins[name].map { $0 + ": " }
            guard let reason = misfit.reason ?? (isGiven ? "which does not take it" : nil),
                let place
            else { continue }
            var note = Note(
                "setting-ignored",
                "\(place)\(name) is ignored for \(request.scheme.name), \(reason)")
            note.place = request.uri.hostAndPort
            notes.append(note)
            origins[name] = nil
            misfit.option.undo(in: &self)
        }
        return notes
    }

    private var givenOptions: [Option] {
        invocation.given.compactMap { name in
            Option.named(name[...]) ?? invocation.programOptions.first { $0.long == name }
        }
    }

    /// Options that cannot go with data or a method, over schemes with header fields.
    private func unfitForData(
        _ request: Request, _ registry: Registry
    ) -> (options: [Option.ID], reason: String)? {
        guard registry.hasHeaderFields(request.scheme.name) else { return nil }
        if fetch.input != nil, fetch.wantsHeadAlone, !isSet(.request) {
            return ([.data], "where --head sends no data")
        }
        guard fetch.condition != nil else { return nil }
        var asked = request
        asked.options = fetch.options
        guard
            fetch.input != nil
                || registry[request.scheme.name]?.handler.carriesData(asked) ?? false
        else { return nil }
        return ([.timeCond, .etagCompare], "where --data or --request sends more than a question")
    }

    /// The one judgement of the options that fit a request.
    func misfits(for request: Request, _ registry: Registry) -> [Misfit] {
        var misfits: [Misfit] = []
        // Computed, since most requests have no misfit, and a copy of all facts takes time.
        var scheme: Scheme { request.scheme }
        func add(_ options: [Option], _ reason: String?, _ refusal: (String) -> FetchError) {
            misfits += options.map {
                Misfit(option: $0, reason: reason, refusal: refusal($0.long))
            }
        }
        func add(_ ids: [Option.ID], _ reason: String, _ refusal: (String) -> FetchError) {
            add(ids.filter(isSet).compactMap(Option.of), reason, refusal)
        }
        func unusable(_ reason: String, hint: String? = nil) -> (String) -> FetchError {
            { usageError("--\($0) cannot be used with \(scheme.name), \(reason)", hint: hint) }
        }
        if fetch.resume != .fromStart && !scheme.canResume {
            let reason = "which cannot resume"
            add(Self.resumes, reason, unusable(reason))
        }
        let policy = connection.trust.flatMap(TrustStore.Policy.init)
        let isDemanding = policy?.isDemanding ?? false
        if isDemanding || connection.pin != nil, (try? request.endpoint.security) != .tls {
            // A key that must be known or certified must never be ignored.
            let reason = "which has no TLS"
            let hint = scheme.secureForm.map { "\($0):// is the same over TLS" }
            add(
                (isDemanding ? [.trust] : []) + (connection.pin == nil ? [] : [.pin]), reason,
                unusable(reason, hint: hint))
        }
        if connection.identityName ?? connection.certificateFile != nil,
            scheme.identityScheme == nil
        {
            add([.identity, .cert, .key], "which has no identities") { _ in
                usageError(
                    "no identity can be shown over \(scheme.name)",
                    hint: Identities.hint(registry))
            }
        }
        // Where it is given, the scheme may still take it as an upload.
        if fetch.input != nil && scheme.input == nil && !isGiven(.data) {
            add([.data], "which takes no data") { _ in Misfit.cannotCarryData(scheme) }
        }
        if fetch.condition != nil || output.tagFile != nil, !registry.hasHeaderFields(scheme.name) {
            let reason = "which has no entity tags and dates of pages"
            add(
                [.timeCond, .etagCompare, .etagSave], reason,
                unusable(reason, hint: Advice.otherSchemes))
        }
        if let (options, reason) = unfitForData(request, registry) {
            add(options, reason, unusable(reason))
        }
        func foreign(_ name: String) -> FetchError {
            usageError(
                "\(scheme.name) requests do not take --\(name)",
                hint: Advice.repository(request, taking: name, registry) ?? Advice.foreign(name))
        }
        if !fetch.options.isEmpty {
            let known = registry[scheme.name]?.handler.options(of: scheme.name) ?? []
            let unknown = fetch.options.keys.subtracting(known.map(\.key))
            // In the order in which they were given; those of a config file are for other schemes.
            if !unknown.isEmpty {
                add(givenOptions.filter { $0.key.map(unknown.contains) ?? false }, nil, foreign)
            }
        }
        if connection.http.isSpecial && !scheme.dialsForItself {
            let engine = Option.engine.map(\.long)
            add(givenOptions.filter { engine.contains($0.long) }, nil, foreign)
        }
        return misfits
    }
}

extension Settings {
    /// The URL with the options that are encoded in it.
    func url(_ url: String, _ registry: Registry) -> String {
        guard !fetch.options.isEmpty, let scheme = URI.scheme(of: url),
            let handler = registry[scheme]?.handler
        else { return url }
        return handler.options.reduce(url) { url, option in
            guard let key = option.urlKey else { return url }
            return fetch.options.fields(option.key).reduce(url) {
                $0.adding(queryField: key, $1)
            }
        }
    }
}

extension Registry {
    /// True if a URL asks for an archive of its files, which is not compressed.
    func isTar(_ url: String) -> Bool {
        guard let uri = try? URI(parsing: url), let query = uri.query,
            let options = self[uri.scheme]?.handler.options(of: uri.scheme),
            options.contains(where: { $0.urlKey == "tar" })
        else { return false }
        return query.split(separator: "&").contains { $0 == "tar" || $0 == "tar=1" }
    }

    /// True if requests of a scheme can have `--header`.
    func hasHeaderFields(_ scheme: String) -> Bool {
        guard let handler = self[scheme]?.handler, handler.programVersion == nil
        else { return false }
        return handler.options(of: scheme).contains { $0.key == "header" }
    }
}

extension Request.Options {
    /// The values of an option as query fields of a URL.
    func fields(_ key: String) -> [String.UTF8View?] {
        switch self[key] {
        case .flag(let isOn): isOn ? [nil] : []
        case .text(let text): [text.utf8]
        case .list(let texts): texts.map(\.utf8)
        case .secret, nil: []
        }
    }
}

extension ErrorWording {
    /// Wording that names options and commands.
    static let commandLine = ErrorWording(hint: \.advice, expected: \.expectation)
}

// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

extension Advice {
    /// The URL that a word was meant to be: without the marks around it in the text that it was
    /// copied from, with its blanks escaped, its scheme and its slashes in place. Pure.
    ///
    /// - Returns: `nil` without a better URL. It is sure if it was enclosed in marks, and nothing
    ///   else had to be changed.
    static func reading(of word: String, _ registry: Registry) -> (uri: URI, isSure: Bool)? {
        guard word.utf8.count <= URI.lengthMax else { return nil }
        var (text, isSure, layersLeft) = (trimmed(word[...]), true, 16)
        while let inner = peeled(text, &isSure, isEnclosed: isSure && layersLeft < 16) {
            layersLeft -= 1
            guard layersLeft > 0 else { return nil }
            text = trimmed(inner)
        }
        // Only a line that was broken has line ends; the & of a page's source has a name.
        let whole = text.split(whereSeparator: \.isNewline).reduce(into: "") { $0 += trimmed($1) }
            .replacing(text: "&amp;", with: "&")
            .replacing(text: " ", with: "%20").replacing(text: "\t", with: "%20")
        guard let url = completed(whole, registry), let uri = try? URI(parsing: url),
            let host = uri.host, uri != (try? URI(parsing: word)),
            !host.contains(where: { marks[$0] != nil || marks.values.contains($0) })
        else { return nil }
        return (uri, isSure && uri == (try? URI(parsing: String(text))))
    }

    /// The hint for a word that is not a URL: the URL that it was meant to be, or its kind.
    ///
    /// - Parameter next: The word after it.
    static func url(_ word: String, _ registry: Registry, before next: String? = nil) -> String? {
        if word.hasPrefix("{") || word.hasPrefix("[{") {
            return "--json is for output; --header 'Content-Type: application/json' --data DATA "
                + "sends JSON"
        }
        guard registry[word] != nil else { return meant(by: word, registry) }
        // The word behind the name of another program is hardly a host.
        let isProgram = registry[word]?.scheme.hasReferences ?? false
        let isHost = !isProgram || (next ?? "").contains { ".:/@".contains($0) }
        let whole = "\(word)://" + (isHost ? next ?? "" : "").drop { "/@".contains($0) }
        return (try? URI(parsing: whole))?.display
            ?? "a URL begins with its scheme: \(word)://HOST/"
    }

    /// The hint for a command line of another program: `git clone URL`, `curl URL`.
    static func line(_ words: [String], _ registry: Registry) -> String? {
        let url = words.first { $0.contains(text: "://") }
        let isScheme = registry[words[0]] != nil
        let word = isScheme ? words.dropFirst().first ?? "" : words[0]
        if isScheme, word == url { return "smallweb " + quoted(URI.display(word)) }
        if isScheme, Command.named(word) != nil {
            return "smallweb \(word) " + (url.map { quoted(URI.display($0)) } ?? "URL")
        }
        guard let text = command(word), var url, let scheme = URI.scheme(of: url) else {
            return command(word)
        }
        // A web URL has no archive.
        if let own = registry.repositories(overWeb: scheme), text.contains(text: "--tar ") {
            url = own.name + url.dropFirst(scheme.count)
        }
        return text.replacing(text: " URL", with: " " + quoted(URI.display(url)))
    }

    /// The upload whose file stands before its URL.
    static func swapped(_ file: String, _ url: String?, _ registry: Registry) -> String? {
        guard let url, let name = URI.scheme(of: url), let scheme = registry[name]?.scheme,
            registry[URI.scheme(of: file) ?? ""] == nil
        else { return nil }
        let words = [quoted(URI.display(url)), quoted(file)]
        if scheme.uploads != nil { return "smallweb put \(words[0]) \(words[1])" }
        return registry.hasHeaderFields(name)
            ? "smallweb get -X PUT -d \(quoted("@\(file)")) \(words[0])" : nil
    }

    /// The reading of a word that names no server as it is.
    static func meant(by word: String, _ registry: Registry) -> String? {
        guard (try? URI(parsing: word))?.host == nil else { return nil }
        return reading(of: word, registry)?.uri.display
    }

    /// The hint for the name of a repository for a command that takes no other URL.
    static func repository(meantBy word: String, _ registry: Registry) -> String? {
        guard let meant = meant(by: word, registry), let uri = try? URI(parsing: meant),
            !(registry[uri.scheme]?.scheme.hasReferences ?? false),
            let start = meant.range(ofText: "://")?.upperBound,
            let scheme = repositories(on: meant[start...].prefix { $0 != "/" }, registry)
        else { return meant(by: word, registry) }
        return "\(scheme.name)://\(meant[start...])"
    }

    /// `true` for a URL with a pattern of curl: `{a,b}`, `[1-20]`, `[01-99:2]`, `[a-z]`.
    static func isGlob(_ word: String) -> Bool {
        let pieces = word.split(omittingEmptySubsequences: false) { "[{".contains($0) }
        return pieces.dropFirst().contains { piece in
            guard let end = piece.firstIndex(where: { "]}".contains($0) }) else { return false }
            let inner = piece[..<end]
            if piece[end] == "}" { return inner.contains(",") }
            let ends = inner.prefix { $0 != ":" }.split(separator: "-")
            return ends.count == 2
                && (ends.allSatisfy { Int($0) != nil }
                    || ends.allSatisfy { $0.count == 1 && $0.allSatisfy(\.isLetter) })
        }
    }

    /// The hint for a file's name behind the URL of its repository.
    static func path(_ word: String, behind words: [String], _ registry: Registry) -> String? {
        guard let url = words.first(where: { $0.contains(text: "://") }), !word.hasPrefix("/"),
            let uri = try? URI(parsing: url), uri.query == nil, !uri.path.contains(text: "//"),
            registry[uri.scheme]?.scheme.hasReferences ?? false, URI.scheme(of: word) == nil,
            let file = try? URI(parsing: "\(uri.withoutFragment)//\(word)")
        else { return nil }
        return file.display
    }

    /// The hint for the name of a file in the place of a URL; `nil` for other words.
    ///
    /// - Parameter command: The command that was called, if any.
    static func file(_ word: String, for command: Command?) -> String? {
        let isPath = UserFiles.isPath(word) && !word.hasPrefix("//")
        guard fileKind(word) == S_IFREG || isPath else { return nil }
        // Another name would have to be quoted.
        let isPlain = word.utf8.allSatisfy {
            ASCII.isLetter($0) || ASCII.isDigit($0) || "/._-~".utf8.contains($0)
        }
        let name = isPlain ? word : "FILE"
        var isList = word.hasSuffix(".opml")
        if fileKind(word) == S_IFREG, case .line(let line, _)? = (try? ListReader(word))?.take() {
            isList = isList || (try? URI(parsing: RequestLine(line).url ?? ""))?.host != nil
        }
        if isList { return "a list of URLs is @\(name)" }
        let takesFiles = command?.options.contains { $0.id == .local } ?? false
        return "'smallweb \(takesFiles ? command?.name ?? "" : "open") --local \(name)' reads it"
    }

    // MARK: Reading

    private static let marks: [Character: Character] = [
        "<": ">", "\"": "\"", "'": "'", "`": "`", "“": "”", "„": "“", "‘": "’", "«": "»",
        "(": ")", "[": "]", "{": "}",
    ]

    private static func isStop(_ last: Character?) -> Bool {
        last.map { ",.;:!?…".contains($0) } ?? false
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isBlank = { (character: Character) in
            character.isWhitespace || "\u{FEFF}\u{200B}".contains(character)
        }
        var text = text.drop(while: isBlank)
        while text.last.map(isBlank) ?? false { text.removeLast() }
        return text
    }

    /// The text without its outermost marks; `nil` if there are none.
    ///
    /// - Parameters:
    ///   - isSure: Becomes false if there may be another reading.
    ///   - isEnclosed: True within marks that say where the URL ends.
    private static func peeled(
        _ text: Substring, _ isSure: inout Bool, isEnclosed: Bool
    ) -> Substring? {
        guard let first = text.first, let last = text.last else { return nil }
        if text.hasPrefix("=>") { return trimmed(text.dropFirst(2)).prefix { !$0.isWhitespace } }
        if text.hasPrefix("[") || text.hasPrefix("!["), let start = text.range(ofText: "](") {
            var depth = 0
            let rest = text[start.upperBound...]
            let target = rest.prefix { character in
                depth += character == "(" ? 1 : character == ")" ? -1 : 0
                return depth >= 0
            }
            isSure = isSure && rest[target.endIndex...].count == 1
            // A title may follow.
            return trimmed(target).prefix { !$0.isWhitespace }
        }
        // As RFC 3986 has it, in <>.
        if text.prefix(4).lowercased() == "url:" {
            isSure = isSure && isEnclosed
            return text.dropFirst(4)
        }
        let wasSure = isSure
        isSure = false
        let blank = text.firstIndex { $0.isWhitespace } ?? text.endIndex
        if text[..<blank].range(ofText: "://") != nil, text[blank...].range(ofText: "://") != nil {
            return text[..<blank]
        }
        if let close = marks[first] {
            let inner = text.dropFirst()
            // The sentence may go on behind the mark.
            let isClosed = { (rest: Substring) in
                rest.count == 1 || rest.count == 2 && isStop(rest.last)
            }
            if "([{".contains(first) {
                let whole = inner[..<(inner.lastIndex(of: close) ?? inner.endIndex)]
                isSure =
                    wasSure && first != "{" && isClosed(inner[whole.endIndex...])
                    && !isStop(whole.last) && !whole.contains(where: \.isWhitespace)
                    && whole.count { $0 == first } == whole.count { $0 == close }
                return whole
            }
            let whole = inner.prefix { $0 != close }
            isSure = wasSure && isClosed(inner[whole.endIndex...])
            return whole
        }
        // The end of a sentence, or of marks opened before the URL; two dots are a part of it.
        let open = marks.first { $0.value == last }?.key ?? " "
        let isOpened = open != last && text.count { $0 == open } >= text.count { $0 == last }
        let isEnd = isStop(last) && !text.hasSuffix("..")
        if !isEnclosed, isEnd || open != " " && !isOpened { return text.dropLast() }
        isSure = wasSure
        return nil
    }

    /// The text with a scheme and two slashes before its host; `nil` for one without a host.
    private static func completed(_ text: String, _ registry: Registry) -> String? {
        let name = text.prefix { !":/".contains($0) }
        let rest = text.dropFirst(name.count)
        let place = (rest.hasPrefix(":") ? rest.dropFirst() : rest).drop { $0 == "/" }
        let port = place.prefix { $0 != "/" }.utf8
        let isPort = !rest.hasPrefix("://") && !port.isEmpty && port.allSatisfy(ASCII.isDigit)
        if let scheme = registry[name.lowercased()]?.scheme, scheme.hostForm == .required,
            rest.hasPrefix(":") || rest.hasPrefix("//"), !isPort,
            // Without a dot it is more likely a path, whose host was left empty.
            !rest.hasPrefix(":///") || port.contains(ASCII.dot)
        {
            return "\(scheme.name)://" + bracketed(place)
        }
        if rest.hasPrefix("://") { return text }
        return isPort || URI.scheme(of: text) == nil ? server(text, registry) : nil
    }

    /// The URL of a host, which may have a user and a port, without a scheme.
    private static func server(_ text: String, _ registry: Registry) -> String? {
        let place = text.drop { $0 == "/" }
        guard ![1, 3].contains(text.count - place.count), !".~@".contains(place.first ?? "."),
            place == "localhost" || place.utf8.contains(where: { ":/.@".utf8.contains($0) })
        else { return nil }
        let parts = place.split(separator: "@", maxSplits: 1)
        guard parts.count == 2, !parts[0].contains("/") else {
            return (usual(for: place, registry) ?? registry.schemeOfHosts).map {
                "\($0.name)://" + bracketed(place)
            }
        }
        // As ssh takes a repository.
        let ends = parts[1].split(separator: ":", maxSplits: 1)
        if ends.count == 2, !(ends[1].first?.isNumber ?? true) {
            return registry.schemes.first {
                $0.hasReferences && $0.webScheme != nil && $0.secureForm == nil
            }.map { "\($0.name)://\(ends[0])/\(ends[1].drop { $0 == "/" })" }
        }
        return registry.schemes.first(where: \.isUserPartOfAddress).map { "\($0.name)://\(place)" }
    }

    /// The scheme that a host, its port or its path names; `nil` for most hosts.
    private static func usual(for place: Substring, _ registry: Registry) -> Scheme? {
        let host = place.prefix { !"/:?#".contains($0) }
        let label = host.prefix { $0 != "." }
        // Repositories are on the hosts of others.
        if label.count < host.count, let scheme = registry[label.lowercased()]?.scheme,
            !scheme.hasReferences
        {
            return scheme
        }
        let (server, path) = (place.prefix { !"/?#".contains($0) }, place.prefix { $0 != "?" })
        let port = server.dropFirst(host.count + 1)
        let isRepository = registry.schemes.contains { scheme in
            guard let mark = scheme.pathMark?.dropLast() else { return false }
            return path.range(ofText: String(mark)) != nil || path.hasSuffix(mark.dropLast())
        }
        if isRepository { return repositories(on: server, registry) }
        let type = path.count > server.count ? MediaType(ofFile: path)?.essence : nil
        guard label == "www" || ["80", "443", "8080", "8000"].contains(port) || type == "text/html"
        else { return nil }
        let isSecure = port.isEmpty || port == "443"
        return registry.schemes.first {
            $0.dialsForItself && !$0.hasReferences && $0.isSecure == isSecure
        }
    }

    /// The scheme of repositories on a server: over the web for its ports and for public names,
    /// else the own one.
    private static func repositories(on server: Substring, _ registry: Registry) -> Scheme? {
        let parts = server.split(separator: ":", maxSplits: 1)
        let host = parts.first ?? ""
        let isKnown = host.contains(".") && host.last?.isLetter ?? false
        let port = parts.count > 1 ? parts[1] : isKnown ? "443" : ""
        let isSecure: Bool? =
            ["80", "8000", "8080"].contains(port) ? false : port == "443" ? true : nil
        return registry.schemes.first { scheme in
            let isOfWeb = scheme.webScheme != nil
            return scheme.hasReferences && isOfWeb == (isSecure != nil)
                && scheme.isSecure == (isSecure ?? scheme.isSecure)
        }
    }

    /// A host, port and path, with an IPv6 address in brackets.
    private static func bracketed(_ place: Substring) -> String {
        let host = place.prefix { !"/?#".contains($0) }
        guard !host.contains(where: { "[@".contains($0) }), host.count(where: { $0 == ":" }) > 1
        else { return String(place) }
        // The one address that people write with a port.
        let port = host.hasPrefix("::1:") ? host.dropFirst(3) : ""
        return "[\(host.dropLast(port.count))]\(port)\(place.dropFirst(host.count))"
    }
}

extension Registry {
    /// The scheme of repositories that are reached by a scheme of the web.
    func repositories(overWeb scheme: String) -> Scheme? {
        schemes.first { $0.hasReferences && $0.webScheme == scheme }
    }
}

extension Settings {
    /// The URL in the marks that a word begins with, or before its line end, if that is sure, with
    /// a note; any other word as it is.
    func unwrapped(_ word: String, _ known: Registry? = nil) -> String {
        // A URL begins with a letter, and has no line end.
        guard let first = word.utf8.first, let last = word.utf8.last,
            !ASCII.isLetter(first) || last < UInt8(ascii: " "), word.contains(text: "://"),
            let registry = try? known ?? registry(),
            let (uri, isSure) = Advice.reading(of: word, registry), isSure
        else { return word }
        try? note("taken as \(uri.display)")
        return uri.description
    }
}

extension Command {
    /// True for an operand that names a server.
    func isServer(_ index: Int) -> Bool {
        [.url, .knownHost, .bookmark].contains(operands.dropFirst(index).first ?? operands.last)
    }

    /// Runs it. The error of a word that is not a URL has the one that it was meant to be.
    func runAdvised(_ settings: Settings, _ words: [String]) throws(FetchError) -> Int32 {
        do throws(FetchError) { return try run(settings, words) } catch {
            let isMissing = error.outcome == .usage && error.advice == nil
            guard error.outcome == .badURL || isMissing, let registry = try? settings.registry()
            else { throw error }
            var error = error
            let meant = words.indices.filter(isServer).lazy.compactMap {
                Advice.meant(by: words[$0], registry)
            }
            error.hint = meant.first ?? error.hint
            throw error
        }
    }
}

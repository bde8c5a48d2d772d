// SPDX-License-Identifier: MIT
public import SmallWebCore

/// The contents of `plugin.json`: a plugin that is a program, as plain data.
public struct Manifest: Sendable {
    /// Properties of a scheme that only programs need.
    struct SchemeFacts: Sendable {
        /// Type of a body without a head.
        let mediaType: String?
        let isServerFirst: Bool
        /// True if any bytes are allowed in a query, because the program keeps it encoded.
        let keepsQueryEncoded: Bool
        /// True if datagrams may come from another port than the URL's.
        let acceptsAnyPort: Bool
        /// True if TLS that the program begins is judged by authorities.
        let asksAuthorities: Bool
    }

    /// Unique among plugins; also the member of records with its facts.
    public let name: String
    /// The plugin's own version, for records.
    public let version: String
    public let summary: String
    /// The program and its arguments, as written.
    public package(set) var program: [String]
    public let schemes: [Scheme]
    /// Options of its requests.
    public let options: [Request.Option]
    package let limits: ProgramRequest.Limits
    /// Additional files and directories that the program may read, absolute or below `~`.
    package let reads: [String]
    /// Its connections after the first, their allowed targets, and true if it gets their results.
    let connections: [ProgramConnection]
    package let opens: [OpenPattern]
    let wantsAnswers: Bool
    /// By name of the scheme.
    let facts: [String: SchemeFacts]
    let defaults: [String: String]

    /// Limit of a manifest's size.
    public static let bytesMax = 1 << 20

    /// Members that records already have. A plugin's facts are a member under the plugin's name.
    static let reservedNames: Set<String> = [
        "attempts", "base64", "body", "bytes", "charset", "class", "code", "crawl", "date", "error",
        "exit",
        "final_url", "git", "gopher", "headers", "hint", "http", "i", "id",
        "kind", "lang", "line", "links", "message", "meta", "mime", "n", "name", "offset", "oid",
        "ok", "origin", "outcome", "page", "partial", "peeled", "plugin", "program", "raw",
        "redirects", "refs",
        "remote", "retry_after", "same_host", "scheme", "seq", "size", "status", "tag", "text",
        "time", "tls", "trust", "type", "url", "url_input", "v", "version", "warnings", "watch",
    ]

    /// - Throws: `plugin`, naming the member that breaks a rule.
    public init(parsing text: [UInt8]) throws(FetchError) {
        let value: JSONValue
        do throws(FetchError) {
            value = try JSONValue.parse(text[...])
        } catch {
            throw ManifestReader.problem("is \(error.message)")
        }
        var reader = try ManifestReader(value, in: "")
        try reader.version("v")
        try reader.refuseOthers(than: [
            "name", "version", "summary", "program", "schemes", "options", "limits", "reads",
            "connections", "opens", "answers",
        ])
        name = try reader.name("name")
        guard !Self.reservedNames.contains(name) else {
            throw ManifestReader.problem("has the name \"\(name)\", which records use already")
        }
        version = try reader.text("version") ?? ""
        summary = try reader.text("summary") ?? ""
        program = try reader.texts("program")
        guard let first = program.first, !first.isEmpty else {
            throw ManifestReader.problem("has no \"program\"")
        }
        let leavesFolder = program.contains { word in
            (word.hasPrefix("./") || word == first) && word.split(separator: "/").contains("..")
        }
        guard !leavesFolder else {
            throw ManifestReader.problem("has a \"program\" that leads out of its folder")
        }
        reads = try reader.reads("reads")
        connections = try reader.connections("connections")
        opens = try reader.patterns("opens")
        wantsAnswers = try reader.flag("answers")
        limits = try reader.object("limits").map(ManifestReader.limits) ?? .init()
        var schemes: [Scheme] = []
        var facts: [String: SchemeFacts] = [:]
        for entry in try reader.objects("schemes") {
            let (scheme, more) = try ManifestReader.scheme(entry, plugin: name, summary)
            guard facts.updateValue(more, forKey: scheme.name) == nil else {
                throw ManifestReader.problem("has the scheme \"\(scheme.name)\" twice")
            }
            schemes.append(scheme)
        }
        guard !schemes.isEmpty else { throw ManifestReader.problem("has no \"schemes\"") }
        var options: [Request.Option] = []
        var defaults: [String: String] = [:]
        for entry in try reader.objects("options") {
            let (option, value) = try ManifestReader.option(
                entry, plugin: name, example: "\(schemes[0].name)://example.org/",
                takesUploads: schemes.contains { $0.uploads != nil })
            guard !options.contains(where: { $0.key == option.key }) else {
                throw ManifestReader.problem("has the option \"\(option.key)\" twice")
            }
            let names = Self.names(of: option)
            if let other = options.first(where: { !names.isDisjoint(with: Self.names(of: $0)) }) {
                throw ManifestReader.problem(
                    "has the options \"\(other.key)\" and \"\(option.key)\", which share a name on"
                        + " the command line")
            }
            options.append(option)
            defaults[option.key] = value
        }
        (self.schemes, self.facts) = (schemes, facts)
        (self.options, self.defaults) = (options, defaults)
    }
}

extension Manifest {
    /// The paths of ``reads`` on this machine that exist.
    ///
    /// - Throws: `plugin` for a path through a link, and for one that is neither a file nor a
    ///   directory.
    package func places() throws(FetchError) -> [String] {
        guard !reads.isEmpty else { return [] }
        let home = environmentVariable("HOME").map { resolvingLinks($0) }
        var places: [String] = []
        for place in reads {
            guard place.hasPrefix("/") || home?.hasPrefix("/") ?? false else {
                throw .plugin("\(place) cannot be read: there is no home directory")
            }
            let path = place.hasPrefix("/") ? place : (home ?? "") + place.dropFirst()
            guard let isReadable = isFileOrDirectory(path) else { continue }
            let target = resolvingLinks(path)
            guard target == path else {
                throw .plugin("\(place) is a link, or below one, and leads to \(target)")
            }
            guard isReadable else {
                throw .plugin("\(place) is neither a file nor a directory")
            }
            places.append(path)
        }
        return places
    }

    /// Names of an option on the command line, in all of its forms.
    package static func names(of option: Request.Option) -> Set<String> {
        let names =
            option.kind == .secret
            ? [option.key, option.key + "-file", "ask-" + option.key] : [option.key]
        return Set(names.flatMap { [$0, "no-" + $0] })
    }

    /// - Parameter isTaken: True for the name of another option.
    /// - Throws: `plugin`, naming the option.
    package func refuseOptions(where isTaken: (String) -> Bool) throws(FetchError) {
        for option in options {
            let names = Self.names(of: option).sorted { $0.count < $1.count }
            guard let name = names.first(where: isTaken) else { continue }
            throw ManifestReader.problem(
                "has the option \"\(option.key)\", but smallweb has \"\(name)\" already")
        }
    }
}

/// Takes the members of a JSON object, each once.
struct ManifestReader {
    var members: [String: JSONValue] = [:]
    private let place: String

    static func problem(_ what: String) -> FetchError {
        .plugin("plugin.json " + what)
    }

    /// - Parameter place: The path of the object for messages; empty for the whole manifest.
    init(_ value: JSONValue, in place: String) throws(FetchError) {
        guard case .object(let members) = value else {
            throw Self.problem(
                place.isEmpty
                    ? "is not an object" : "has in \"\(place)\" something other than an object")
        }
        self.place = place
        for member in members { self.members[member.name] = member.value }
    }

    /// Called before other checks, since a missing member may be a mistyped one.
    ///
    /// - Throws: `plugin` for a member that is not one of `known`.
    func refuseOthers(than known: [String]) throws(FetchError) {
        let unknown = members.keys.filter { !$0.hasPrefix("x-") && !known.contains($0) }.sorted()
        guard let first = unknown.first else { return }
        var error = Self.problem("has the unknown member \"\(path(first))\"")
        error.hint = Nearest.question(first, among: known)
        throw error
    }

    func path(_ name: String) -> String { place.isEmpty ? name : place + "." + name }

    mutating func take(_ name: String) -> JSONValue? { members.removeValue(forKey: name) }

    func mistake(in name: String, _ what: String) -> FetchError {
        Self.problem("has a \"\(path(name))\" \(what)")
    }

    func missing(_ name: String) -> FetchError {
        Self.problem("has no \"\(path(name))\"")
    }

    /// Version of the manifest's format.
    mutating func version(_ name: String) throws(FetchError) {
        guard let value = take(name) else { throw Self.problem("has no \"\(name)\": 1") }
        guard case .number("1") = value else {
            throw Self.problem("has a \"\(name)\" that is not 1, the only version that is known")
        }
    }

    /// Text without control characters, for help, lists and the manual; `nil` without the member.
    mutating func text(_ name: String) throws(FetchError) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw mistake(in: name, "that is not a string") }
        guard !text.unicodeScalars.contains(where: TerminalText.isDangerous) else {
            throw mistake(in: name, "with a control character or a bidirectional mark")
        }
        return text
    }

    /// Lower-case letters, digits and `-`, beginning with a letter, as in a scheme. At most 63
    /// bytes.
    mutating func name(_ name: String) throws(FetchError) -> String {
        guard let text = try text(name) else { throw missing(name) }
        let isName =
            text.utf8.first.map { 97...122 ~= $0 } ?? false
            && text.utf8.allSatisfy {
                97...122 ~= $0 || ASCII.isDigit($0) || $0 == UInt8(ascii: "-")
            } && text.utf8.count <= 63
        guard isName else {
            throw mistake(in: name, "that is not lower-case letters, digits and -")
        }
        return text
    }

    mutating func flag(_ name: String) throws(FetchError) -> Bool {
        guard let value = take(name) else { return false }
        guard let flag = value.bool else { throw mistake(in: name, "that is not true or false") }
        return flag
    }

    mutating func number(
        _ name: String, in range: ClosedRange<Int>
    ) throws(FetchError) -> Int? {
        guard let value = take(name) else { return nil }
        guard case .number(let text) = value, let number = Int(text), range.contains(number) else {
            throw mistake(
                in: name, "that is not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func word(_ name: String, of words: String...) throws(FetchError) -> String? {
        guard let text = try text(name) else { return nil }
        guard words.contains(text) else {
            throw mistake(in: name, "that is not one of " + words.joined(separator: ", "))
        }
        return text
    }

    mutating func texts(_ name: String) throws(FetchError) -> [String] {
        guard let value = take(name) else { return [] }
        guard case .array(let values) = value, case let texts = values.compactMap(\.string),
            texts.count == values.count
        else { throw mistake(in: name, "that is not a list of strings") }
        guard !texts.contains(where: { $0.utf8.contains(0) }) else {
            throw mistake(in: name, "with a NUL")
        }
        return texts
    }

    mutating func object(_ name: String) throws(FetchError) -> ManifestReader? {
        guard let value = take(name) else { return nil }
        return try ManifestReader(value, in: path(name))
    }

    mutating func objects(_ name: String) throws(FetchError) -> [ManifestReader] {
        guard let value = take(name) else { return [] }
        guard case .array(let values) = value else {
            throw mistake(in: name, "that is not a list of objects")
        }
        var readers: [ManifestReader] = []
        for value in values { readers.append(try ManifestReader(value, in: path(name))) }
        return readers
    }

    // MARK: Parts of a manifest

    /// Limit of ``Manifest/reads``.
    private static var readsMax: Int { 64 }
    /// They expose the machine's own state, so that programs cannot read them.
    private static var hiddenPlaces: [String] { ["/proc", "/sys", "/dev"] }

    mutating func reads(_ name: String) throws(FetchError) -> [String] {
        let places = try texts(name)
        guard places.count <= Self.readsMax else {
            throw Self.problem("has more than \(Self.readsMax) \"\(name)\"")
        }
        for place in places {
            let segments = place.split(separator: "/", omittingEmptySubsequences: false)
            guard place.hasPrefix("/") || place == "~" || place.hasPrefix("~/"),
                place.count > 1 || place == "~",
                !segments.dropFirst().contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }),
                !place.contains(where: { "*?[".contains($0) }),
                TerminalText.escapeLine(place) == place
            else {
                throw Self.problem(
                    "has in \"\(name)\" the path \"\(place)\", which is not absolute or below ~, or"
                        + " has \"..\", \"//\" or wildcards")
            }
            let isHidden = Self.hiddenPlaces.contains {
                place == $0 || place.hasPrefix($0 + "/")
            }
            guard !isHidden else {
                throw Self.problem(
                    "has in \"\(name)\" the path \"\(place)\", which no program sees")
            }
        }
        return places
    }

    static func limits(
        _ reader: ManifestReader
    ) throws(FetchError) -> ProgramRequest.Limits {
        var (reader, limits) = (reader, ProgramRequest.Limits())
        try reader.refuseOthers(than: ["cpu_seconds", "memory_bytes", "files"])
        if let seconds = try reader.number("cpu_seconds", in: 1...86_400) {
            limits.processorSeconds = seconds
        }
        if let bytes = try reader.number("memory_bytes", in: (16 << 20)...(1 << 40)) {
            limits.memoryBytes = bytes
        }
        if let files = try reader.number("files", in: 16...4096) { limits.descriptors = files }
        return limits
    }

    static func option(
        _ reader: ManifestReader, plugin: String, example url: String,
        takesUploads: Bool
    ) throws(FetchError) -> (Request.Option, value: String?) {
        var reader = reader
        try reader.refuseOthers(than: ["name", "value", "help", "default", "secret"])
        let name = try reader.name("name")
        let value = try reader.text("value")
        let help = try reader.text("help") ?? ""
        let standard = try reader.text("default")
        guard standard == nil || value != nil else {
            throw problem("has a default for \"\(name)\", which is a flag")
        }
        let isSecret = try reader.flag("secret")
        guard !isSecret || value != nil && standard == nil else {
            throw problem("has the secret \"\(name)\", which needs a \"value\" and no \"default\"")
        }
        let manual =
            help.prefix(1).uppercased() + help.dropFirst() + (help.hasSuffix(".") ? "" : ".")
        let argument = value.map { " " + $0 } ?? ""
        let option = Request.Option(
            name, isSecret ? .secret : value.map { .text($0) } ?? .flag,
            for: takesUploads ? .fetchesAndUploads : .fetches,
            .init(
                "Options of \(plugin)", help + (standard.map { " (\($0))" } ?? ""),
                manual: isSecret ? help : manual,
                example: isSecret ? url : "smallweb get --\(name)\(argument) \(url)"))
        return (option, standard)
    }
}

// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
@testable internal import SmallWebCLI
internal import SmallWebCore
internal import SmallWebRecords

/// A line of a list: a URL, or a request in JSON. The echo is on one line.
func order(_ input: [UInt8]) {
    let line = input.prefix { $0 != ASCII.lineFeed }
    let order = RequestLine(line, line: 7)
    let operand = RequestLine(operand: String(systemBytes: Array(line)))
    let isText = String(validating: line, as: UTF8.self) != nil
    check(isText == (operand.problem == nil), "an operand that is not UTF-8")
    let trimmed = line.drop(while: ASCII.isSpace).reversed().drop(while: ASCII.isSpace).reversed()
    check(isText || operand.subject.rawURL == Array(trimmed), "another operand")
    check(order.url != nil || order.problem != nil, "neither a URL nor a problem")
    if let problem = order.problem {
        check(problem.message.hasPrefix("line 7: "), problem.message)
        check([.usage, .badURL, .protocolError].contains(problem.outcome), "\(problem)")
    }
    for echo in [order.subject.id, order.subject.tag ?? []] where !echo.isEmpty {
        check((try? JSONValue.parse(echo[...])) != nil, "an echo that is no JSON")
        check(!echo.contains(ASCII.lineFeed), "an echo of two lines")
    }
    if let output = order.output {
        check(!output.isEmpty && output != "-" && !output.utf8.contains(0), output)
    }
    if let word = operand.url { checkReading(of: word) }
    guard order.problem == nil else { return }
    var settings = Settings()
    do throws(FetchError) {
        // Connections are not fuzzed.
        _ = try settings.apply(order)
    } catch {
        check(error.message.hasPrefix("line 7: "), error.message)
        check(error.outcome == .usage || error.outcome == .badURL, "\(error)")
    }
    if let limit = settings.fetch.bodyBytesMax { check(limit >= 0, "\(limit) bytes") }
    // The URL decides the destination, with or without the JSON around it.
    if line.first != UInt8(ascii: "{") {
        check(order.url.map { Array($0.utf8) } == Array(line.prefix { $0 != 9 }), "another URL")
    }
}

/// A word that was pasted: its reading is a URL without marks, and a URL in marks is read.
private func checkReading(of word: String) {
    let plain = try? URI(parsing: word)
    if let (uri, isSure) = Advice.reading(of: word, .builtIn) {
        check((try? URI(parsing: uri.description)) == uri && uri.host != nil, "not a URL: \(uri)")
        check(uri != plain, "nothing else than \(uri)")
        check(!isSure || plain == nil, "\(uri) is sure where \(word) is a URL")
        let text = uri.description
        check(text.utf8.count <= 3 * word.utf8.count + 16, "\(text) has more")
        check(!text.contains { "<>\"`“”„‘’«»{}".contains($0) }, "\(text) has a mark")
    }
    guard let plain, plain.host != nil, !word.contains("&amp;"),
        !word.contains(where: { "<>\"'`“”„‘’«»()[]{}".contains($0) || $0.isWhitespace })
    else { return }
    for pasted in ["<\(word)>", "\"\(word)\"", "=> \(word) text", "[text](\(word))"] {
        let reading = Advice.reading(of: pasted, .builtIn)
        check(reading?.uri == plain && reading?.isSure == true, "\(pasted) is not read")
    }
}

/// A list, in a file: the lines that are not blank, as something simpler finds them.
func list(_ input: [UInt8]) {
    let path = scratchFile("list", input)
    guard let reader = try? ListReader(path, lineBytesMax: 64) else { fatalError("cannot read") }
    var taken: [(bytes: [UInt8]?, number: Int)] = []
    reading: while true {
        switch reader.take() {
        case .line(let bytes, let number): taken.append((Array(bytes), number))
        case .tooLong(let number): taken.append((nil, number))
        case .nothing: fatalError("a file has something to read")
        case .failed(let error): fatalError("\(error)")
        case .end: break reading
        }
    }
    var bytes = input[...]
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    var expected: [(bytes: [UInt8]?, number: Int)] = []
    if bytes.starts(with: mark), bytes.prefix(while: { $0 != 10 }).count <= 64 {
        bytes = bytes.dropFirst(3)
    }
    var lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
    check(reader.isTorn == (lines.last?.isEmpty == false || input == mark), "torn")
    if lines.last?.isEmpty == true { lines.removeLast() }
    for (index, line) in lines.enumerated() {
        let isFirst = index == 0 && bytes.count < input.count
        if line.count + (isFirst ? 3 : 0) > 64 {
            expected.append((nil, index + 1))
            continue
        }
        let isSpace = { (byte: UInt8) in [32, 9, 13].contains(byte) }
        let start = line.drop(while: isSpace)
        var text = Array(start)
        while text.last.map(isSpace) ?? false { text.removeLast() }
        if !text.isEmpty && text[0] != UInt8(ascii: "#") { expected.append((text, index + 1)) }
    }
    check(taken.map(\.number) == expected.map(\.number), "other lines")
    checkSource(path)
    check(taken.map(\.bytes) == expected.map(\.bytes), "other lines")
}

/// Three workers together take all lines of a list and both operands, each once.
private func checkSource(_ path: String) {
    guard let places = try? Places(.builtIn) else { fatalError("no SHA-256") }
    let operands = ["gemini://a.test/", "@" + path, "gopher://b.test/"]
    var quiet = MessageSettings()
    quiet.isQuiet = true
    let messages = Messages(quiet)
    let orders = { (own: OwnShard?) -> [RequestLine] in
        let source = OperandSource(operands, own, messages)
        var orders: [RequestLine] = []
        while true {
            switch source.take() {
            case .request(let order): orders.append(order)
            case .cancel: break
            case .foreign: check(own != nil, "it belongs to nobody")
            case .nothing: fatalError("a file has something to read")
            case .end:
                check(source.rest().isEmpty, "there is a rest")
                return orders
            }
        }
    }
    let all = orders(nil)
    check(all.map(\.subject.n) == Array(all.indices), "the numbers")
    let parts = (0..<3).map { index in
        orders(OwnShard(Shard(index: index, count: 3), places))
    }
    check(
        parts.flatMap { $0.map(\.subject.n) }.sorted() == all.map(\.subject.n),
        "a line is lost, or twice there")
    check(OperandSource(operands, nil, messages).rest().count == 2, "the operands are not left")
    guard case .request(let order) = OperandSource(["@\(path)/none"], nil, messages).take() else {
        fatalError("a list that is not there")
    }
    check(order.isUnreadList && order.problem?.outcome == .read, "a list that is not there")
    check(ListReader.tooLong(7).message.hasPrefix("line 7: "), "no line")
}

/// A ledger, and one line of it.
func ledger(_ input: [UInt8]) {
    for line in input.split(separator: ASCII.lineFeed) {
        guard let result = Ledger.Result(line) else { continue }
        check(result.start?.isFinite ?? true, "no moment")
        check(String(validating: line, as: UTF8.self) != nil, "not UTF-8")
    }
    let path = scratchFile("list", input)
    let whole = input.lastIndex(of: ASCII.lineFeed).map { input[...$0] } ?? []
    let rest = input[whole.count...]
    let isOwn = rest.first == 0 || zip(rest, "{\"type\":".utf8).allSatisfy(==)
    guard let ledger = try? Ledger(path) else {
        check(!isOwn, "cannot open the ledger")
        check((try? StoreFile(path, title: "ledger").read()) == input, "a foreign file is changed")
        return
    }
    check(isOwn, "a foreign line is cut off")
    check((try? Ledger(path)) == nil, "two have the ledger")
    check((try? Ledger(path + "/none")) == nil, "a file is a directory")
    if (try? ledger.append(Array("x\n".utf8))) == nil { fatalError("cannot be written") }
    guard truncate(path, whole.count) == 0 else { fatalError("cannot be shortened") }
    guard let size = try? StoreFile(path, title: "ledger").read() else { fatalError("unread") }
    check(size == Array(whole), "the torn line is left, or more is gone")
    var last: [String: Outcome] = [:]
    for line in whole.split(separator: ASCII.lineFeed) {
        guard line.count < 4096 else { continue }
        let record: JSONValue
        do throws(FetchError) {
            record = try JSONValue.parse(trimmed(line))
        } catch {
            // A ledger does not look for that.
            if error.message.contains("is there twice") { return }
            continue
        }
        guard ["response", "error"].contains(record["type"]?.string),
            let outcome = record["outcome"]?.string.flatMap(Outcome.init(rawValue:)),
            let url = record["url"]?.string
        else { continue }
        last[URI.display(url)] = outcome
    }
    for (url, outcome) in last {
        check(ledger.outcome(nil, url) == outcome, "\(url) ended otherwise")
    }
    var messages = MessageSettings()
    messages.isSilent = true
    var merge = LedgerMerge(Messages(messages))
    do throws(FetchError) {
        try merge.read(path)
    } catch {
        fatalError("\(error)")
    }
    check(merge.urlCount == last.count, "\(merge.urlCount) URLs of \(last.count)")
}

/// As lists have their lines: a byte order mark and white space are not part of them.
private func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var line = line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
    let isSpace = { (byte: UInt8) in [32, 9, 13].contains(byte) }
    line = line.drop(while: isSpace)
    while let byte = line.last, isSpace(byte) { line.removeLast() }
    return line
}

/// A config file is read, or refused with its place; settings that are read can be applied.
func configuration(_ input: [UInt8]) {
    let path = scratchFile("f", input)
    var settings = Settings()
    settings.invocation.configFile = path
    let configuration: Configuration
    do throws(FetchError) {
        configuration = try Configuration.load(settings)
    } catch {
        check(error.message.hasPrefix("\(path):"), error.message)
        return check(error.outcome != .internal, "\(error)")
    }
    // Unicode has line ends beyond ASCII.
    let ends = input.count { $0 < 32 || $0 > 127 }
    check(configuration.entries.count <= ends + 1, "more entries than lines")
    let hasSections = configuration.entries.contains { $0.scope != .all }
    check(configuration.hasSections == hasSections, "sections")
    let limited = configuration.limited(to: .config)
    check(limited.entries.count <= configuration.entries.count, "it grows")
    let ranks = configuration.entries.map(\.scope.rank)
    check(ranks == ranks.sorted(), "out of order")
    check(!configuration.hasSections(with: []), "a section of nothing")
    for entry in configuration.entries {
        // Plugins alone know one without an id.
        let isInSection = entry.option.id.map { configuration.hasSections(with: [$0]) } ?? true
        check(isInSection || entry.scope == .all, "\(entry.option.long) is in a section")
        check(entry.scope == .all || entry.option.scope == .url, "\(entry.option.long)")
        check(entry.origin.hasPrefix("\(path):"), entry.origin)
    }
    for url in [nil, "gemini://a.example.test/"] {
        do throws(FetchError) {
            let applied = try configuration.applied(to: settings, for: url)
            let again = try configuration.applied(to: applied, for: url)
            check(applied.origins == again.origins, "applied twice it is another")
        } catch {
            check(error.message.hasPrefix("\(path):"), error.message)
        }
    }
}

private let record = Array(
    """
    {"type":"response","v":1,"url":"gemini://h.test/","status":20,"mime":"text/plain",\
    "redirects":[],"body":{"text":"a\\u001b[1m"},"time":{"total":1.5},"id":null,"ok":true}

    """.utf8)

/// A format: its output has no control character of the record, and all text of the format.
func writeOut(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self),
        let format = try? WriteOut(text)
    else { return }
    if text.contains("%{stderr}") { return }
    let write = { (try? format.pieces(of: record))?.flatMap { Array($0.text.utf8) } }
    guard let written = write() else { fatalError("nothing is written") }
    check(written == write(), "something else is written")
    let escapes = { (bytes: [UInt8]) in bytes.count { $0 == 0x1B } }
    check(escapes(written) <= escapes(input), "the record's escape is written")
    if !text.contains("%"), !text.contains("\\") { check(written == input, "\(text) changes") }
}

/// Lines of bookmarks, and links of others' pages.
func bookmarks(_ input: [UInt8]) {
    for line in input.split(separator: ASCII.lineFeed) {
        guard let bookmark = Bookmarks.Bookmark(line: line) else { continue }
        check(!bookmark.url.isEmpty && !bookmark.url.hasPrefix("#"), bookmark.url)
        check(!bookmark.url.utf8.contains(9), "a tab in \(bookmark.url)")
        let again = Bookmarks.Bookmark(
            line: Array("\(bookmark.url)\t\(bookmark.title)".utf8)[...])
        // A carriage return at the end is the line's.
        if bookmark.title.utf8.last != 13 { check(again == bookmark, "\(bookmark) changes") }
    }
    for (url, title) in (try? Bookmarks.links(in: input, of: "f")) ?? [] {
        check((try? URI(parsing: url))?.host != nil, "\(url) leads nowhere")
        check(!url.utf8.contains(10) && !title.utf8.contains(10), "two lines")
    }
    useHome()
    _ = scratchFile("smallweb/bookmarks", input)
    let url = "gemini://h.test/%C3%A4"
    do throws(FetchError) {
        let before = try Bookmarks.all()
        try Bookmarks.add(url, title: "a\tb\nc")
        let others = before.filter { $0.url != url }
        let after = try Bookmarks.all()
        check(Array(after.dropLast()) == others, "another bookmark is lost")
        check(after.last?.url == url && after.last?.title == "a b c", "it is not added")
        try Bookmarks.remove(url)
        check(try Bookmarks.all() == others, "another is removed")
    } catch {
        fatalError("\(error)")
    }
}

/// The first line is a visited URL, the rest is the content of the history.
func history(_ input: [UInt8]) {
    let first = input.prefix { $0 != ASCII.lineFeed }
    if let text = String(validating: first, as: UTF8.self),
        let entry = History.entry(text, .builtIn)
    {
        check(entry.utf8.count <= 1024, "\(entry.utf8.count) bytes")
        check(!entry.contains("?") && !entry.contains("#"), "\(entry) has what was typed")
        check(History.entry(entry, .builtIn) == entry, "\(entry) changes")
        check(!entry.utf8.contains { $0 <= 32 || $0 == 0x7F }, "\(entry) is no line")
    }
    useHome()
    var rest = Array(input.dropFirst(first.count + 1))
    // No input is long enough for the history to be shortened, so its lines are repeated.
    if first.elementsEqual("*".utf8), rest.count(where: { $0 == 10 }) > 1 {
        rest = (0..<(200_000 / rest.count)).flatMap { _ in rest }
    }
    _ = scratchFile("smallweb/history", rest)
    guard let latest = try? History.latest() else { fatalError("the history cannot be read") }
    var (expected, seen) = ([[UInt8]](), Set<[UInt8]>())
    for line in rest.split(separator: ASCII.lineFeed).reversed() {
        guard let tab = line.firstIndex(of: ASCII.tab) else { continue }
        let url = Array(line[(tab + 1)...])
        if seen.insert(url).inserted { expected.append(url) }
    }
    let texts = expected.map { String(decoding: $0, as: UTF8.self) }
    check(latest == Array(texts.prefix(History.entriesMax)), "other URLs")
    var settings = Settings()
    settings.messages.recordsHistory = true
    let visited = "gemini://h.test/visited"
    History.record([visited + "?q", "no URL"], settings)
    let after = try? History.latest()
    check(after?.first == visited, "the visit is not recorded")
    check(after?.count ?? 0 <= History.entriesMax, "too many")
    check(Set(after ?? []).isSubset(of: latest + [visited]), "a URL out of nothing")
}

private func useHome() { homeIsUsed }

private let homeIsUsed: Void = {
    let path = scratchFile("w", [])
    let directory = String(path.dropLast(2))
    check(mkdir(directory + "/smallweb", 0o700) == 0 || errno == EEXIST, "no directory")
    for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME"] { setenv(name, directory, 1) }
}()

/// The worker of a URL: by its scheme and authority alone, in every form of a line.
func shard(_ input: [UInt8]) {
    guard let places = try? Places(.builtIn) else { fatalError("no SHA-256") }
    let line = input.prefix { $0 != ASCII.lineFeed }
    guard let url = Places.url(ofLine: line), let place = places.place(of: url) else { return }
    check(0..<7 ~= place.shard(among: 7) && place.shard(among: 1) == 0, "no shard")
    check(places.place(of: url)?.name == place.name, "it is another the second time")
    let colon = url.firstIndex(of: ASCII.colon) ?? url.startIndex
    let start = min(colon + 3, url.endIndex)
    let end = url[start...].firstIndex { [9, 35, 47, 63].contains($0) } ?? url.endIndex
    for suffix in ["/x", "?y", "#z", "\ttitle", "/a b\u{7F}"] {
        let other = places.place(of: url[..<end] + Array(suffix.utf8))
        check(other?.name == place.name, "\(suffix) decides")
    }
    if let text = String(validating: url, as: UTF8.self),
        let uri = try? URI(parsing: text).withASCIIHost(), let host = uri.host
    {
        // A dot at its end, and the form of an IPv6 address, do not make it another place.
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        check(host.contains(":") || place.name.hasPrefix(name.lowercased()), place.name)
    }
}

/// Words of a command line, separated by NUL.
func arguments(_ input: [UInt8]) {
    let text = String(systemBytes: input)
    let words = text.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
    // These words would read a file or standard input.
    if words.contains(where: { $0.contains("@") || $0.contains("config") }) { return }
    do throws(FetchError) {
        let settings = try ArgumentParser.parse(words)
        check(settings.invocation.operands.count <= words.count, "more operands than words")
        let operands = settings.invocation.operands
        check(operands.allSatisfy { operand in words.contains(operand) }, "an operand")
        let dashed = operands.filter { $0.hasPrefix("-") && $0 != "-" }
        check(dashed.isEmpty || words.contains("--"), "an option is an operand")
    } catch {
        check(error.outcome == .usage || error.outcome != .internal, "\(error)")
    }
}

/// Keys typed at a prompt of each kind: neither the echo nor the typed text drives the terminal.
func typed(_ input: [UInt8]) {
    for openers in [ReaderCommand.openers, ReaderCommand.digits, "", nil] {
        var keys = TypedInput(openers: openers)
        for byte in input {
            let (shown, text): (String, String?)
            switch keys.take(byte) {
            case .more(let echo): (shown, text) = (echo, nil)
            case .typed(let typed, let echo): (shown, text) = (echo, typed)
            case .end: (shown, text) = ("", nil)
            }
            let isSafe = shown.unicodeScalars.allSatisfy {
                !TerminalText.isDangerous($0) || "\n\u{7}\u{8}".unicodeScalars.contains($0)
            }
            check(isSafe, "the terminal is driven")
            check(keys.line.utf8.count <= TypedInput.lineBytesMax, "the line grows")
            guard let text else { continue }
            check(TerminalText.escapeLine(text) == text, "a line that is not one")
            check(!text.isEmpty || openers == nil || input.count > 65_000, "nothing was typed")
            check(keys.line.isEmpty, "the next begins with the last")
            command(text)
        }
    }
}

private func command(_ text: String) {
    switch ReaderCommand(parsing: text) {
    case .follow(let number), .handOver(let number): check(number >= 0, "\(number)")
    case .go(let words), .search(let words):
        check(!words.isEmpty && text.contains(text: words), "\(words) is not in \(text)")
    case .invalid(let problem): check(!problem.isEmpty, "no reason")
    default: break
    }
    guard let word = try? HandOver.word(for: text) else { return }
    check(word.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(word) is not a URL")
    check(!word.hasPrefix("-") && !word.hasPrefix("/") && !word.hasPrefix("file:"), word)
}

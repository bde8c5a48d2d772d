// SPDX-License-Identifier: MIT
@testable internal import FingerPlugin
@testable internal import GeminiPlugin
internal import Glibc
@testable internal import GopherPlugin
@testable internal import HTTPPlugin
@testable internal import SmallWeb
@testable internal import SmallWebCore
@testable internal import SmallWebFormats
internal import SmallWebTestSupport
@testable internal import SpartanPlugin

/// libFuzzer's own `main`, under another name.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argc: UnsafeMutablePointer<CInt>,
    _ argv: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ one: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The package manager makes this the program's `main`, which hides the one that the fuzzer's
/// runtime brings.
@_cdecl("smallweb_fuzz_main")
public func main(_ argc: CInt, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt
{
    guard target != nil else {
        print(targets.keys.sorted().joined(separator: "\n"))
        return 2
    }
    var argc = argc
    var argv = argv
    return runDriver(&argc, &argv, fuzz)
}

/// Called with each input. A broken promise is a crash; `SMALLWEB_FUZZ_TARGET` names the decoder
/// for the input. See `run.py`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target?(Array(UnsafeBufferPointer(start: data, count: count)))
    return 0
}

/// `nil` where the variable names none.
private let target = getenv("SMALLWEB_FUZZ_TARGET").flatMap { targets[String(cString: $0)] }

private let targets: [String: @Sendable ([UInt8]) -> Void] = [
    "arguments": arguments, "base64": base64, "bindings": bindings, "bookmarks": bookmarks,
    "certificate": certificate, "charset": charset, "configuration": configuration,
    "content-reader": contentReader, "delta": delta, "difference": difference,
    "exchange": exchange, "expression": expression, "feed-dates": feedDates,
    "feed-document": feedDocument, "feed-formats": feedFormats, "finger": finger,
    "chunked-body": chunkedBody,
    "gemini-header": geminiHeader, "gemini-request": geminiRequest, "gemtext": gemtext,
    "gzip-members": gzipMembers, "warc": warc,
    "git-address": gitAddress, "git-attributes": gitAttributes, "git-commit": gitCommit,
    "git-conversation": gitConversation, "git-fetch": gitFetch,
    "git-lfs": gitLFS, "git-modules": gitModules, "git-patch": gitPatch,
    "git-question": gitQuestion,
    "git-refs": gitRefs, "gopher-address": gopherAddress, "gopher-menu": gopherMenu,
    "gopher-opening": gopherOpening, "gopher-text": gopherText, "history": history,
    "html": html, "html-tokens": htmlTokens,
    "http-date": httpDate, "http-reply": httpReply, "json": json, "known-hosts": knownHosts,
    "ledger": ledger, "line-framer": lineFramer, "links": links, "list": list,
    "manifest": manifest, "markdown": markdown, "markup": markup, "media-type": mediaType,
    "open-pattern": openPattern, "order": order, "pack": pack,
    "pack-deltas": packDeltas, "pkt-line": pktLine, "plugin-script": pluginScript,
    "program-events": programEvents,
    "proxy": proxy, "proxy-settings": proxySettings, "ref-pattern": refPattern,
    "reference": reference, "rendered": rendered, "robots": robots, "shard": shard,
    "spartan-header": spartanHeader,
    "spartan-request": spartanRequest, "store-file": storeFile,
    "subscriptions": subscriptions, "terminal-text": terminalText, "tree": tree,
    "trust-format": trustFormat, "typed": typed, "uri": uri, "wildmatch": wildmatch,
    "wire-case": wireCase, "wrap": wrap, "write-out": writeOut,
]

/// A promise: holds in release builds too.
func check(_ promise: Bool, _ message: String) {
    if !promise { fatalError(message) }
}

private func uri(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    let shown = URI.display(text)
    // A byte may become %XX.
    check(shown.utf8.count <= 3 * text.utf8.count + 3, "\(shown) has more")
    guard let uri = try? URI(parsing: text) else { return }
    let secret = uri.userinfo?.split(separator: ":", maxSplits: 1).dropFirst().first ?? ""
    let isElsewhere =
        uri.description.split(separator: secret, omittingEmptySubsequences: false)
        .count > 2
    let isShown = shown.contains(":\(secret)@")
    check(secret.utf8.count < 4 || !isShown || isElsewhere, "\(shown) has the password")
    let again = try? URI(parsing: uri.description)
    check(again == uri, "\(uri) reads differently the second time: \(String(describing: again))")
    check(uri.description.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "\(uri) holds a control")
    check(uri.host == nil || uri.path.isEmpty || uri.path.hasPrefix("/"), "\(uri.path)")
    if uri.host != nil {
        let plain = uri.removingDotSegments()
        check(plain.removingDotSegments() == plain, "dots are left in \(plain)")
        check((try? URI(parsing: plain.description)) == plain, "\(plain) changes")
    }
}

private func reference(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self),
        let base = try? URI(parsing: "gemini://h.test/a/b;c?d#e"),
        let target = try? base.resolving(text)
    else { return }
    check(target.fragment == nil || text.contains("#"), "a fragment out of nothing: \(target)")
    // "a:/.//b" has no host to keep two slashes apart from an authority (RFC 3986 §3.3).
    if target.host == nil && target.path.hasPrefix("//") { return }
    check((try? URI(parsing: target.description)) == target, "\(target) changes")
}

private func mediaType(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self),
        let type = MediaType(parsing: text)
    else { return }
    check(MediaType(parsing: type.description) == type, "\(type) reads differently")
    check(type.essence.utf8.allSatisfy { 0x21..<0x7F ~= $0 }, "\(type.essence)")
}

private func httpDate(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    check(HTTPDate.unixSeconds(date) == 784_111_777, "the date of RFC 9110")
    let wait = HTTPDate.wait(retryAfter: text, date: date)
    let limit = HTTPDate.wait(rateLimit: text)
    check(limit ?? .zero >= .zero && limit ?? .zero <= .seconds(86_400), "a limit")
    check(wait ?? .zero >= .zero && wait ?? .zero <= .seconds(86_400), "a wait of \(wait ?? .zero)")
}

private func geminiHeader(_ input: [UInt8]) {
    guard let header = try? GeminiHeader(parsing: input[...]) else { return }
    check(10...69 ~= header.status, "status \(header.status)")
    check(TerminalText.escapeLine(header.meta).utf8.count >= header.meta.utf8.count, "escaping")
    check(!header.meta.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{7F}" }, "controls")
    let head = header.head(input[...])
    check(head.header == input, "the header is not what came")
    check((head.replyClass == .redirect) == (head.redirectTarget != nil), "a redirect's target")
}

/// `plugin`'s request for a URL is one line, whatever the URL.
private func checkLine(_ line: [UInt8]?) {
    guard let line else { return }
    check(line.suffix(2) == [13, 10], "no CR LF")
    check(!line.dropLast(2).contains { $0 == 0 || $0 == 10 || $0 == 13 }, "a second line")
}

private func geminiRequest(_ input: [UInt8]) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard let text = String(validating: parts[0], as: UTF8.self),
        let uri = try? URI(parsing: "gemini://h" + text)
    else { return }
    let request = Request(
        uri: uri, scheme: GeminiPlugin().schemes[0], input: parts.count > 1 ? Array(parts[1]) : nil)
    let line = try? GeminiPlugin.requestLine(request)
    checkLine(line)
    check((line?.count ?? 0) <= 1026, "longer than 1024 bytes")
    check(line?.contains(UInt8(ascii: "#")) != true, "a fragment")
}

private func spartanHeader(_ input: [UInt8]) {
    guard let header = try? SpartanHeader(parsing: input[...]) else { return }
    check(2...5 ~= header.status, "status \(header.status)")
    check(!header.meta.utf8.contains { $0 < 0x20 && $0 != 9 || $0 == 0x7F }, "a control")
    let head = header.head(input[...])
    check(head.header == input, "the header is another")
    guard let target = head.redirectTarget else { return }
    guard let base = try? URI(parsing: "spartan://h.test:3000/a?b") else { fatalError("base") }
    guard let uri = try? base.resolving(target) else { return }
    check(uri.hostAndPort == base.hostAndPort && uri.scheme == base.scheme, "\(uri) is elsewhere")
    check(uri.query == nil && uri.fragment == nil, "\(uri) has data")
}

private func spartanRequest(_ input: [UInt8]) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard let text = String(validating: parts[0], as: UTF8.self),
        let uri = try? URI(parsing: "spartan://" + text)
    else { return }
    let request = Request(
        uri: uri, scheme: SpartanPlugin().schemes[0],
        input: parts.count > 1 ? Array(parts[1]) : nil)
    guard let block = try? SpartanPlugin.dataBlock(request),
        let line = try? SpartanPlugin.requestLine(uri, dataBytes: block.byteCount)
    else { return }
    checkLine(line)
    let words = line.dropLast(2).split(separator: ASCII.space, omittingEmptySubsequences: false)
    check(words.count == 3, "\(words.count) words")
    check(words[1].first == ASCII.slash && !words[1].contains(ASCII.questionMark), "the path")
    check(words[2].elementsEqual(String(block.byteCount).utf8), "the length")
    check((try? block.next())?.count == block.byteCount, "the data")
}

private func gopherAddress(_ input: [UInt8]) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard let text = String(validating: parts[0], as: UTF8.self),
        let uri = try? URI(parsing: "gopher://h/" + text),
        let address = try? GopherAddress(uri, input: parts.count > 1 ? Array(parts[1]) : nil)
    else { return }
    let line = try? address.requestLine()
    checkLine(line)
    check((line ?? []).count { $0 == ASCII.tab } <= 2, "a TAB too many")
}

private func finger(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self),
        let uri = try? URI(parsing: "finger://" + text)
    else { return }
    let line = try? FingerPlugin.query(uri)
    checkLine(line)
    check((line?.count ?? 0) <= 514, "longer than 512 bytes")
    check(line?.contains(UInt8(ascii: "@")) != true, "a forward")
}

private func gopherMenu(_ input: [UInt8]) {
    guard let base = try? URI(parsing: "gophers://h.test/1") else { fatalError("base") }
    let read = { (pieces: [ArraySlice<UInt8>]) -> [Item] in
        var reader = MenuReader(base: base, lineBytesMax: 64, hasTerminator: false)
        var items: [Item] = []
        for piece in pieces {
            let (more, error) = reader.add(piece)
            items += more
            if error != nil { return items }
        }
        return items + (reader.finish().map { [$0] } ?? [])
    }
    let items = read([input[...]])
    check(items == read(Pieces(of: input).pieces), "the items depend on the pieces")
    check(items.count <= input.count, "more items than bytes")
    for item in items where item.target.flatMap({ GopherMenu.externalURL($0[...]) }) == nil {
        guard let url = item.url else { continue }
        check((try? URI(parsing: url))?.host != nil, "\(url) leads nowhere")
    }
}

private func gopherOpening(_ input: [UInt8]) {
    guard let type = input.first.map(GopherItemType.init(byte:)) else { return }
    let verdict = { (pieces: [ArraySlice<UInt8>]) -> GopherOpening.Verdict? in
        var opening = GopherOpening(type: type)
        for piece in pieces where opening.verdict == nil { opening.add(piece) }
        if opening.verdict == nil { opening.add([]) }
        return opening.verdict
    }
    let reply = Array(input.dropFirst())
    let whole = verdict(reply.isEmpty ? [] : [reply[...]])
    check(whole != nil, "no verdict at the end")
    check(whole == verdict(Pieces(of: reply).pieces), "the verdict depends on the pieces")
    var opening = GopherOpening(type: type)
    opening.add(reply[...])
    if opening.isTerminated {
        check(reply.contains(ASCII.dot), "an end without a dot")
    }
}

private func gopherText(_ input: [UInt8]) {
    let plain = plainGopherText(input)
    // @unchecked: nothing here suspends, so the task is over when `immediate` returns.
    nonisolated(unsafe) var isDone = false
    _ = Task.immediate {
        var text = GopherText(heldBytesMax: 16)
        var body: [UInt8] = []
        do {
            for piece in Pieces(of: input).pieces { try await text.add(piece) { body += $0 } }
            let isTerminated = text.isTerminated
            try await text.finish { body += $0 }
            check(isTerminated == plain.isTerminated, "terminated: \(isTerminated)")
            check(body == plain.body, "\(body) is not \(plain.body)")
        } catch {
            fatalError("\(error)")
        }
        isDone = true
    }
    check(isDone, "it has suspended")
}

private func knownHosts(_ input: [UInt8]) {
    var hosts = KnownHosts(parsing: input)
    check(hosts.bytes.starts(with: input) || input.isEmpty, "reading alone changes it")
    check(KnownHosts(parsing: hosts.bytes) == hosts, "reads differently the second time")
    let pins = hosts.pins
    // A name that is not UTF-8 belongs to no host.
    guard let place = pins.first?.place, !place.contains("\u{FFFD}") else { return }
    // A line that goes on behind the place is about it as well.
    let others = pins.filter { !KnownHosts.isAbout(Array(place.utf8), $0.line[...]) }
    check(hosts.pins(of: place) + others == pins.filter { $0.place == place } + others, "lost one")
    // Lines about the place that cannot be read go, too.
    let count = hosts.lines(of: place).count
    check(count >= pins.count - others.count, "a pin in no line")
    check(hosts.remove(place) == count, "removed another number")
    check(hosts.pins == others, "removed another")
    hosts.add(pins[0])
    check(hosts.pins == others + [pins[0]], "is written differently")
    var next = pins[0]
    next.last = 1_795_299_433
    next.days += 1
    let old = hosts.pins.filter { $0 == pins[0] }
    hosts.apply(.replace(pins[0], by: next))
    check(hosts.pins.filter { $0 == next }.count >= old.count, "is not replaced")
    check(hosts.pins.count == others.count + 1, "another number")
    guard let key = KnownHosts.key(of: Array(next.place.utf8)[...]) else { return }
    for line in hosts.lines(of: next.place) {
        check(KnownHosts.key(of: line.text) == key, "a line about a place has another key")
    }
}

/// The first byte says whose store it is; hashes, which no fuzzer finds, have signs of their own.
private func trustFormat(_ input: [UInt8]) {
    guard let first = input.first,
        var text = String(validating: input.dropFirst(), as: UTF8.self)
    else { return }
    let hashes =
        [
            ("$", String(repeating: "ab", count: 32)), ("&", String(repeating: "CD", count: 64)),
            ("!", String(repeating: "q6ur", count: 10) + "q6s="),
            ("*", [String](repeating: "AB", count: 32).joined(separator: ":")),
            ("?", [String](repeating: "AB", count: 64).joined(separator: ":")),
        ] as [(Character, String)]
    for (sign, hash) in hashes {
        text = text.split(separator: sign, omittingEmptySubsequences: false)
            .joined(separator: hash)
    }
    let formats = TrustFormat.allCases
    let format = formats[Int(first) % formats.count]
    let (pins, _) = format.pins(in: text)
    var hosts = KnownHosts(parsing: [])
    let added = hosts.merge(pins, replacing: false)
    check(KnownHosts(parsing: hosts.bytes).pins == added, "an imported pin is written differently")
    // An exported store imports as it was, but for dates that were not there.
    guard let (own, left) = format.text(of: added) else { return }
    check(left.count <= added.count, "more is left than there was")
    let (again, refused) = format.pins(in: own)
    check(refused == 0, "its own text is refused")
    for pin in again {
        check(
            added.contains { $0.place == pin.place && $0.digest == pin.digest },
            "a pin came back as another")
    }
}

private let registry: Registry = {
    var registry = Registry()
    try? registry.register(GeminiPlugin())
    try? registry.register(TitanHandler())
    return registry
}()

/// The first byte says whose file it is.
private func bindings(_ input: [UInt8]) {
    guard let first = input.first,
        let text = String(validating: input.dropFirst(), as: UTF8.self)
    else { return }
    let bindings = Bindings(parsing: Array(input.dropFirst()), registry: registry)
    check(
        Bindings(parsing: bindings.bytes, registry: registry) == bindings,
        "reads differently the second time")
    checkBinding(bindings)
    let formats = IdentityFormat.allCases
    let format = formats[Int(first) % formats.count]
    for found in format.identities(inText: text, directory: "d") {
        let name = Bindings.freeName(found.name, taken: ["a", "me", "h"])
        check(Bindings.isName(name), "\(name) is no name")
        check(!name.utf8.contains(ASCII.slash), "\(name) leads elsewhere")
    }
}

private func checkBinding(_ before: Bindings) {
    var bindings = before
    guard let scope = try? Identities.Scope("gemini://h.test/a", in: registry),
        let uri = try? URI(parsing: "gemini://h.test/a/b")
    else { fatalError("a scope") }
    bindings.add("new", scope)
    check(bindings.scopes(of: "new").contains(scope), "it is not added")
    check(bindings.name(for: uri) != nil, "nothing is bound")
    bindings.remove("new", scope: scope)
    check(!bindings.scopes(of: "new").contains(scope), "it is not removed")
    bindings.remove("new", scope: nil)
    check(bindings.scopes(of: "new").isEmpty, "it is not removed")
}

private func terminalText(_ input: [UInt8]) {
    let filter = { (pieces: [ArraySlice<UInt8>]) -> [UInt8] in
        var filter = TerminalText.Filter()
        return pieces.flatMap { filter.filter($0) } + filter.filter([], isLast: true)
    }
    let safe = filter([input[...]])
    check(safe == filter(Pieces(of: input).pieces), "the text depends on the pieces")
    guard let text = String(validating: safe, as: UTF8.self) else { fatalError("not UTF-8") }
    for scalar in text.unicodeScalars {
        let isControl = scalar.value < 0x20 && scalar != "\n" && scalar != "\t"
        check(!isControl && !(0x7F..<0xA0 ~= scalar.value), "control U+\(scalar.value)")
        check(!(0x2066...0x2069 ~= scalar.value || 0x202A...0x202E ~= scalar.value), "bidi")
    }
    let line = TerminalText.escapeLine(String(decoding: input, as: UTF8.self))
    check(!line.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "a control in a line")
}

private func lineFramer(_ input: [UInt8]) {
    let framed = { (pieces: [ArraySlice<UInt8>]) -> [[UInt8]] in
        var framer = LineFramer(lineBytesMax: .max - 1)
        var lines: [[UInt8]] = []
        for piece in pieces {
            try? framer.add(piece) { lines.append(Array($0.bytes)) }
        }
        if let last = framer.finish() { lines.append(Array(last.bytes)) }
        return lines
    }
    var lines = input.split(separator: 10, omittingEmptySubsequences: false).map { Array($0) }
    let last = lines.removeLast()
    for index in lines.indices where lines[index].last == 13 { lines[index].removeLast() }
    if !last.isEmpty { lines.append(last) }
    check(framed([input[...]]) == lines, "the lines of the whole")
    check(framed(Pieces(of: input).pieces) == lines, "the lines of the pieces")
    let split = { (pieces: [ArraySlice<UInt8>]) -> [LineFramer.Line] in
        var framer = LineFramer(lineBytesMax: 16)
        return pieces.flatMap { framer.split($0) } + framer.split([], isLast: true)
    }
    let pieces = split([input[...]])
    check(pieces == split(Pieces(of: input).pieces), "the pieces depend on the pieces")
    check(pieces.allSatisfy { $0.bytes.count <= 16 }, "longer than a piece may be")
    let mark = [0xEF, 0xBB, 0xBF] as [UInt8]
    let ends: Set<UInt8> = [10, 13]
    check(
        pieces.flatMap { $0.bytes.filter { !ends.contains($0) } }
            == (input.starts(with: mark) ? input.dropFirst(3) : input[...]).filter {
                !ends.contains($0)
            }, "bytes are lost")
}

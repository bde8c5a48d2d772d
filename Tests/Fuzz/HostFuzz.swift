// SPDX-License-Identifier: MIT
internal import CSmallWebTLS
internal import Glibc
@testable internal import HTTPPlugin
@testable internal import SmallWeb
@testable internal import SmallWebCore
internal import SmallWebPlugins
@testable internal import SmallWebTransport

/// A certificate in DER: its facts are the same again, and bounded.
func certificate(_ input: [UInt8]) {
    guard let library = try? TLSLibrary.shared() else { fatalError("no OpenSSL") }
    let parsed = input.withUnsafeBufferPointer { buffer -> OpaquePointer? in
        var start = buffer.baseAddress
        return d2i_X509(nil, &start, buffer.count)
    }
    ERR_clear_error()
    guard let parsed else { return }
    defer { X509_free(parsed) }
    let reader = CertificateReader(library: library, certificate: parsed)
    for host in ["h.test", "192.0.2.1", "2001:db8::1", ""] {
        let facts = try? reader.facts(host: host)
        check(facts == (try? reader.facts(host: host)), "other facts the second time")
        ERR_clear_error()
        guard let facts else { continue }
        check(facts.sha256.count == 32 && facts.spkiSHA256.count == 32, "a digest")
        check(facts.sha512.count == 64, "a digest")
        // A byte that is not UTF-8 becomes U+FFFD, three bytes long.
        check(facts.subject.utf8.count <= 3 * 1024, "a subject of \(facts.subject.utf8.count)")
        check(facts.issuer.utf8.count <= 3 * 1024, "an issuer of \(facts.issuer.utf8.count)")
        for ip in facts.ipNames ?? [] {
            check(SocketAddress(literal: ip, port: 0) != nil, "\(ip) is no address")
        }
        check(facts.keyName != "", "a key without a name")
        if facts.matchesHost { check(!host.isEmpty, "it is for no host") }
    }
}

/// Lines: a proxy's URL, a host, exemptions, and variables of the environment.
func proxySettings(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard lines.count >= 3 else { return }
    let (url, host, exemptions) = (lines[0], lines[1], lines[2])
    var settings = ProxySettings()
    settings.environment = [:]
    for line in lines.dropFirst(3) {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 { settings.environment[String(parts[0])] = String(parts[1]) }
    }
    checkProxy(url)
    checkExemptions(exemptions, host)
    let schemes = Registry.builtIn.handlers.flatMap(\.schemes)
    guard let proxy = try? Proxy(parsing: url) else {
        return checkChoice(settings, schemes, host)
    }
    checkChoice(settings, schemes, host)
    settings.source = .proxy(proxy)
    settings.exemptions = exemptions
    settings.isolates = input.count % 2 == 1
    let isExempt = NoProxyList(exemptions).entry(for: host) != nil
    for scheme in schemes {
        let endpoint = Endpoint(host: host, port: 1, security: .none)
        guard let choice = try? settings.choice(for: scheme, to: endpoint) else { continue }
        check(choice.route.isDirect == isExempt, "it goes around the proxy")
        check(settings.isolates != true || !choice.route.isDirect, "isolation without a proxy")
        if case .proxy(let used) = choice.route {
            check(used.host == proxy.host && used.port == proxy.port, "another proxy")
            check(scheme.canUseProxy, "\(scheme.name) cannot use one")
            check(choice.route.name == used.description, "another name")
            check(!(used.looksUpHere && used.kind == .socks5h), "names are looked up here")
            check(!settings.runsCommand, "no command")
        }
    }
}

private func checkProxy(_ url: String) {
    do throws(FetchError) {
        let proxy = try Proxy(parsing: url)
        let again = try? Proxy(parsing: proxy.description)
        check(again?.kind == proxy.kind && again?.host == proxy.host, "\(proxy) changes")
        check(again?.port == proxy.port && again?.credentials == nil, "\(proxy) changes")
        check(!proxy.host.isEmpty && !proxy.host.utf8.contains { $0 <= 32 }, "a host")
        check(!(proxy.credentials?.user.isEmpty ?? false) || url.contains(":"), "a user")
    } catch {
        check(error.outcome == .usage, "\(error)")
        // A password is never repeated.
        guard let at = url.lastIndex(of: "@") else { return }
        let secret = url[..<at].split(separator: ":").last ?? ""
        if secret.utf8.count > 12, !secret.contains("/") {
            check(!error.message.contains(secret), "\(error.message)")
        }
    }
}

private func checkExemptions(_ list: String, _ host: String) {
    let entry = NoProxyList(list).entry(for: host)
    check(NoProxyList("*").entry(for: host) == "*", "every host")
    if let entry {
        check(list.contains(entry), "\(entry) is not in the list")
        check(NoProxyList(entry).entry(for: host) == entry, "\(entry) depends on others")
        check(NoProxyList(list + ",a.test").entry(for: host) == entry, "the end decides")
    }
    let lower = NoProxyList(list.lowercased()).entry(for: host)
    check(lower?.lowercased() == entry?.lowercased(), "upper case decides")
}

private func checkChoice(_ settings: ProxySettings, _ schemes: [Scheme], _ host: String) {
    for scheme in schemes {
        let endpoint = Endpoint(host: host, port: 1, security: .none)
        do throws(FetchError) {
            let choice = try settings.choice(for: scheme, to: endpoint)
            check(choice.route.isDirect || choice.reason != nil, "a proxy of nobody")
            if case .variable(let name)? = choice.reason {
                check(settings.environment[name]?.isEmpty == false, "\(name) is not set")
                check(name != "HTTP_PROXY", "what a CGI server sets")
            }
            check(!settings.environment.isEmpty || choice.route.isDirect, "a proxy")
        } catch {
            check(error.outcome == .usage || error.outcome == .proxy, "\(error)")
        }
    }
}

/// A header, and a body that it says is encoded.
func httpReply(_ input: [UInt8]) {
    var reply = HTTPReply()
    var rest = input[...]
    var lines = 0
    while let end = rest.firstIndex(of: ASCII.lineFeed) {
        let line = Array(rest[...end])
        rest = rest[(end + 1)...]
        if line == [10] || line == [13, 10] { break }
        reply.add(line: line)
        lines += 1
    }
    check(0...999 ~= reply.status, "status \(reply.status)")
    check(reply.fields.all.count <= lines, "more fields than lines")
    for field in reply.fields.all {
        check(!field.name.isEmpty || hasBlanks(reply.fields.bytes), "a field without a name")
        check(!field.name.contains(":"), field.name)
        let isPlain = field.name.utf8.allSatisfy { 0x20..<0x7F ~= $0 }
        let isFound = reply[field.name.lowercased()] != nil
        // Blanks around a name are not part of it, but it is not found by the rest.
        check(isFound || !isPlain || hasBlanks(reply.fields.bytes), field.name)
        guard let range = ContentRange(parsing: field.value) else { continue }
        check(range.count > 0 && range.countToEnd >= range.count, "the range \(field.value)")
    }
    let head = reply.head(.success, method: "GET", factName: "http")
    check(head.header.count <= input.count, "a header out of nothing")
    let (header, body) = (reply, Array(rest))
    let whole = decoded(header, body.isEmpty ? [] : [body[...]])
    let pieced = decoded(header, Pieces(of: body).pieces)
    check(whole.outcome == pieced.outcome, "the end depends on the pieces")
    check(whole.isCutOff == pieced.isCutOff, "the end depends on the pieces")
    check(
        whole.outcome == .ok ? whole.body == pieced.body : true, "the body depends on the pieces")
    check(whole.body.count <= body.count * 1100 + 100, "a body out of nothing")
}

private func hasBlanks(_ header: [UInt8]) -> Bool {
    header.split(separator: ASCII.lineFeed).contains { line in
        let name = line.prefix { $0 != ASCII.colon }
        return [ASCII.space, ASCII.tab].contains { $0 == name.first || $0 == name.last }
    }
}

private struct Decoded: Sendable {
    var body: [UInt8] = []
    var outcome = Outcome.ok
    var isCutOff = false
}

private func decoded(_ reply: HTTPReply, _ pieces: [ArraySlice<UInt8>]) -> Decoded {
    immediately {
        var decoder = ContentDecoder(reply)
        var decoded = Decoded()
        do throws(FetchError) {
            for piece in pieces {
                try await decoder.decode(piece) { bytes in
                    check(bytes.count <= ContentDecoder.outputBytesMax, "\(bytes.count) bytes")
                    decoded.body += bytes
                }
            }
            decoded.isCutOff = decoder.isCutOff
        } catch {
            decoded.outcome = error.outcome
        }
        return decoded
    }
}

private let charsets = [
    "iso-8859-1", "utf-16", "shift_jis", "iso-2022-jp", "gb18030", "windows-1258", "utf-7",
    "big5-hkscs", "euc-kr", "utf-32", "windows-1255", "euc-jisx0213", "iso-2022-kr", "koi8-r",
]

/// The first byte says which charset: the text does not depend on the pieces, is UTF-8 and bounded.
func charset(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let name = charsets[Int(first) % charsets.count]
    let bytes = Array(input.dropFirst())
    let convert = { (pieces: [ArraySlice<UInt8>]) -> [UInt8] in
        guard let converter = CharsetConverter(from: name) else { fatalError("no \(name)") }
        return pieces.flatMap { converter.convert($0) } + converter.finish()
    }
    let whole = convert([bytes[...]])
    check(String(validating: whole, as: UTF8.self) != nil, "\(name): not UTF-8")
    check(whole.count <= 24 * bytes.count + 24, "\(name): \(whole.count) of \(bytes.count) bytes")
    check(whole == convert(Pieces(of: bytes).pieces), "\(name): the text depends on the pieces")
    if let all = CharsetConverter(from: name)?.convertAll(bytes) {
        check(all == whole, "\(name): another text at once")
    }
    let isPlain = !["utf-16", "utf-32", "utf-7", "iso-2022-jp", "iso-2022-kr"].contains(name)
    if isPlain, name != "shift_jis", bytes.allSatisfy({ 0x20..<0x7F ~= $0 && $0 != 0x7E }) {
        check(whole == bytes, "\(name): \(bytes) becomes \(whole)")
    }
}

/// The links of a page of gemtext, whatever they lead to.
func links(_ input: [UInt8]) {
    guard let base = try? URI(parsing: "gemini://h.test/a/b") else { fatalError("base") }
    let read = { (pieces: [ArraySlice<UInt8>]) -> [(url: String, line: Int)] in
        let head = Head(.success, mediaType: MediaType("text/gemini"))
        let reader = PageReader(head, base: base, registry: .builtIn)
        reader.require(.links)
        let lines = pieces.flatMap { reader.read(.body($0)) } + reader.finish(isWhole: true)
        return lines.flatMap(reader.links).map { ($0.url, $0.line) }
    }
    let whole = read([input[...]])
    let pieced = read(Pieces(of: input).pieces)
    check(whole.map(\.url) == pieced.map(\.url), "the links depend on the pieces")
    check(whole.map(\.line) == pieced.map(\.line), "the lines depend on the pieces")
    checkItems(whole.map(\.url), base)
    checkLines(input, base)
    for (url, line) in whole {
        check(line >= 1, "line \(line)")
        guard !url.isEmpty else { continue }
        check((try? URI(parsing: url))?.description == url, "\(url) changes")
    }
}

/// The lines of the same bytes as other kinds of pages.
private func checkLines(_ input: [UInt8], _ base: URI) {
    for type in ["text/gemini; charset=iso-8859-1", "text/plain", "application/gopher-menu"] {
        let read = { (pieces: [ArraySlice<UInt8>]) -> [[UInt8]] in
            let reader = PageReader(
                Head(.success, mediaType: MediaType(parsing: type)), base: base,
                registry: .builtIn)
            reader.require(.source, under: "a")
            let lines = pieces.flatMap { reader.read(.body($0)) } + reader.finish(isWhole: true)
            check(reader.hasHeading || !lines.contains(where: \.isIncluded), "a section of nothing")
            return lines.map { Array($0.bytes) }
        }
        let whole = read([input[...]])
        check(whole == read(Pieces(of: input).pieces), "\(type): the lines depend on the pieces")
        check(whole.allSatisfy { !$0.contains(10) && $0.count <= 65_536 }, "\(type): a line")
    }
}

/// The same links as the items of a menu.
private func checkItems(_ urls: [String], _ base: URI) {
    let reader = PageReader(
        Head(.success, mediaType: MediaType("application/gopher-menu")), base: base,
        registry: .builtIn)
    for (index, url) in urls.enumerated() {
        let item = Item(kind: .link, text: "a", url: url.isEmpty ? nil : url)
        guard let link = reader.read(.item(item)).lazy.flatMap(reader.links).first else {
            fatalError("no link")
        }
        check(link.url == url && link.line == index + 1, "\(url) becomes \(link.url)")
        check(link.isLink && link.label == "a", "another link")
    }
}

func base64(_ input: [UInt8]) {
    check(Base64.decode(Base64.encode(input)) == input, "is lost")
    guard let text = String(validating: input, as: UTF8.self), let bytes = Base64.decode(text)
    else { return }
    check(Base64.encode(bytes) == text, "\(text) is written differently")
}

private let storePath: String = {
    var template = Array(
        ((access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp")
            + "/smallweb-fuzz-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("no temporary directory") }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    scratchDirectory.withLock { $0 = path }
    atexit {
        let path = scratchDirectory.withLock { $0 }
        for name in ["f", "list", "w"] { unlink("\(path)/\(name)") }
        for name in ["smallweb/history", "smallweb/bookmarks", "smallweb"] {
            remove("\(path)/\(name)")
        }
        rmdir(path)
    }
    return path
}()

private let scratchDirectory = Locked("")

/// A file of this process that parsers of files are given.
func scratchFile(_ name: String, _ bytes: [UInt8]) -> String {
    let path = "\(storePath)/\(name)"
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { fatalError("cannot write \(path)") }
    defer { close(file) }
    guard write(file, bytes, bytes.count) == bytes.count else { fatalError("cannot write \(path)") }
    return path
}

/// Steps on a store, separated by 0xFF: a byte for the kind of step, and bytes to add. The file has
/// the same content as an array.
func storeFile(_ input: [UInt8]) {
    let path = scratchFile("f", [])
    let store = StoreFile(path, title: "store")
    var expected: [UInt8] = []
    for step in input.split(separator: 0xFF, omittingEmptySubsequences: false).prefix(12) {
        guard let kind = step.first else { continue }
        let bytes = Array(step.dropFirst())
        do throws(FetchError) {
            switch kind % 4 {
            case 0:
                let size = try store.append(lines: bytes)
                if let last = expected.last, last != ASCII.lineFeed { expected.append(10) }
                expected += bytes
                check(size == expected.count, "a size of \(size)")
            case 1:
                try store.change { $0 = bytes + $0 }
                expected = bytes + expected
            case 2:
                // A kill leaves a last line that begins with 0.
                expected = Array(StoreFile.whole(expected))
                guard let lock = try store.tryLock() else { fatalError("no lock") }
                guard try store.append(bytes, at: expected.count, lock) != nil else {
                    fatalError("it can be written to")
                }
                // The first byte is written last, and nothing is a line without one.
                expected += bytes
                if bytes.isEmpty { try store.replace(by: expected, lock) }
            default:
                guard !expected.isEmpty, let lock = try store.tryLock() else { continue }
                let piece = Array(bytes.prefix(expected.count))
                check(try store.overwrite(at: 0, with: piece, lock) != nil, "it can be written to")
                expected.replaceSubrange(0..<piece.count, with: piece)
            }
            check(try store.read() == expected, "the file has something else")
            let whole = Array(StoreFile.whole(expected))
            var lines: [UInt8] = []
            let extent = try store.forEachPart(room: 1 + Int(kind)) { part, start in
                check(start == lines.count, "a gap")
                lines += part
            }
            guard let extent else { continue }
            check(lines == whole && extent.count == whole.count, "other lines")
            check(extent.canGrow == (whole.last == ASCII.lineFeed), "another end")
        } catch {
            fatalError("\(error)")
        }
    }
    let whole = StoreFile.whole(expected)
    check(expected.starts(with: whole), "a line out of nothing")
    check(StoreFile.whole(Array(whole)).count <= whole.count, "it grows")
}

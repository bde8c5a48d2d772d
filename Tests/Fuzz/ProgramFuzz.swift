// SPDX-License-Identifier: MIT
@testable internal import ExternalPlugin
internal import SmallWebCore

/// A manifest that is taken keeps the rules that are written down.
func manifest(_ input: [UInt8]) {
    guard let manifest = try? Manifest(parsing: input) else { return }
    let names = [manifest.name] + manifest.schemes.map(\.name) + manifest.options.map(\.key)
    for name in names {
        check(1...63 ~= name.utf8.count && name.utf8.first != UInt8(ascii: "-"), name)
        check(
            name.utf8.allSatisfy {
                97...122 ~= $0 || ASCII.isDigit($0) || $0 == UInt8(ascii: "-")
            }, name)
    }
    check(!Manifest.reservedNames.contains(manifest.name), "\(manifest.name) is in records")
    check(!manifest.schemes.isEmpty, "no schemes")
    check(Set(manifest.schemes.map(\.name)).count == manifest.schemes.count, "a scheme twice")
    check(Set(manifest.options.map(\.key)).count == manifest.options.count, "an option twice")
    for scheme in manifest.schemes {
        guard let facts = manifest.facts[scheme.name] else { fatalError("no facts") }
        check(scheme.defaultPort > 0 || scheme.transport == .none, "port 0 of \(scheme.name)")
        check((scheme.trust == .none) == (scheme.transport != .tls), "trust of \(scheme.name)")
        check(facts.mediaType.map { MediaType(parsing: $0) != nil } ?? true, "no media type")
        check(scheme.canUseProxy == (scheme.transport != .udp), "a proxy of datagrams")
    }
    check(
        manifest.defaults.keys.allSatisfy { key in
            manifest.options.contains { $0.key == key }
        }, "a default of no option")
    check(manifest.program.first?.isEmpty == false, "no program")
    for word in manifest.program where word == manifest.program[0] || word.hasPrefix("./") {
        check(!word.split(separator: "/").contains(".."), "\(word) leads elsewhere")
    }
    let limits = manifest.limits
    check(1...86_400 ~= limits.processorSeconds, "\(limits.processorSeconds) seconds")
    check((16 << 20)...(1 << 40) ~= limits.memoryBytes, "\(limits.memoryBytes) bytes")
    check(16...4096 ~= limits.descriptors, "\(limits.descriptors) descriptors")
}

/// A file is a plugin or is refused; its parts are those of a folder, whatever the line ends.
func pluginScript(_ input: [UInt8]) {
    guard let script = try? PluginScript(parsing: input) else { return }
    manifest(script.json)
    let again = try? Manifest(parsing: script.json)
    check(again?.name == script.manifest.name, "the manifest of the folder has another name")
    check(script.manifest.program == ["./" + script.manifest.name], "another program")
    check(script.fixtures.count <= 1000, "\(script.fixtures.count) fixtures")
    let bytes = script.fixtures.reduce(0) { $0 + $1.text.count }
    check(bytes <= input.count + 1, "fixtures of \(bytes) bytes")
    for fixture in script.fixtures { check(fixture.text.starts(with: "url ".utf8), fixture.name) }
    let crossed = input.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
    let other = try? PluginScript(parsing: crossed)
    check(other.map { $0.json == script.json } ?? false, "line ends count")
}

/// Neither events nor errors depend on the pieces; accepted events keep the documented rules.
func programEvents(_ input: [UInt8]) {
    guard let base = try? URI(parsing: "nex://h.test/a/b") else { fatalError("base") }
    let read = { (pieces: [ArraySlice<UInt8>]) -> (events: [ProgramEvent], problem: String?) in
        var reader = ProgramEventReader(base: base, name: "nex")
        var events: [ProgramEvent] = []
        do throws(FetchError) {
            for piece in pieces {
                reader.add(piece)
                while let event = try reader.next() { events.append(event) }
            }
            try reader.finish()
        } catch {
            check(error.outcome == .plugin, "\(error)")
            return (events, error.message)
        }
        return (events, nil)
    }
    let texts = { (events: [ProgramEvent]) in events.map { String(describing: $0) } }
    // Byte by byte, all events before an error are returned.
    let (events, problem) = read(input.indices.map { input[$0...$0] })
    for pieces in [[input[...]], Pieces(of: input).pieces] {
        let (others, otherProblem) = read(pieces)
        check(
            problem == otherProblem, "\(problem ?? "none"), and in pieces \(otherProblem ?? "none")"
        )
        check(texts(events).starts(with: texts(others)), "the events depend on the pieces")
        check(problem != nil || events.count == others.count, "an event is lost")
    }
    var heads = 0
    for event in events {
        switch event {
        case .head(let head, let offset):
            check(offset ?? 0 >= 0, "a negative offset")
            heads += 1
            check(head.status ?? 0 >= 0 && head.bodyBytes ?? 0 >= 0, "a negative number")
            let wait = head.retryAfter ?? .zero
            check(.zero...Duration.seconds(86_400) ~= wait, "a wait of \(wait)")
            check(head.replyClass == .redirect || head.redirectTarget == nil, "a redirect")
            check(head.facts.members.allSatisfy { $0.name == "nex" }, "facts of others")
        case .item(let item):
            check(ProgramEventReader.kinds.contains(item.kind), "\(item.kind)")
            check(heads == 1, "an item before the head")
            check(item.facts.members.allSatisfy { $0.name == "nex" }, "facts of others")
        case .fail(let outcome, _):
            check(!ProgramEventReader.outcomesOfHost.contains(outcome.rawValue), "\(outcome)")
        case .open(let connection, _), .startTLS(let connection):
            check(0...3 ~= connection, "connection \(connection)")
        case .note, .end: break
        }
    }
    check(heads <= 1, "\(heads) heads")
}

/// Lines: a pattern, the URL's own host, and a URL that a program opens. A pattern accepts only
/// URLs that agree with its text, however both are written.
func openPattern(_ input: [UInt8]) {
    let lines = input.split(separator: ASCII.lineFeed, omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
    }
    guard lines.count == 3, let pattern = OpenPattern(lines[0]) else { return }
    let own = lines[1].isEmpty ? nil : lines[1]
    check(pattern.text.utf8.count <= 512, "\(pattern.text.utf8.count) bytes")
    check(pattern.text.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "\(pattern.text) is shown")
    let parts = pattern.text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
    let (scheme, place) = (parts[0].dropLast(), parts[2].lowercased())
    func checkPlace(_ host: String, _ port: UInt16) {
        let isAny = place == "*" || place.hasPrefix("*:")
        let name = isAny ? "" : place.hasPrefix("{host}") ? own ?? "none" : host
        let isBelow = place.hasPrefix("*.") && host.hasSuffix(String(name.dropFirst(1)))
        check(isAny || host == name || isBelow, "\(host) is not \(place)")
        if let digits = place.split(separator: ":").last, let number = UInt16(digits),
            !place.hasSuffix("]")
        {
            check(port == number, "\(port) is not of \(place)")
        }
    }
    if let target = OpenPattern.target(lines[2]) {
        check(OpenPattern.isConnection(lines[2]), "\(lines[2]) is no connection")
        if pattern.matches(target, own: own) {
            check(parts.count == 3, "\(pattern.text) is of pages")
            check(lines[2].hasPrefix(scheme + "://"), "\(lines[2]) is not of \(scheme)")
            checkPlace(target.endpoint.host, target.endpoint.port)
        }
    }
    guard let uri = try? URI(parsing: lines[2]).removingDotSegments(),
        pattern.matches(uri, port: uri.port ?? 70, isUsualPort: uri.port == nil, own: own)
    else { return }
    check(!OpenPattern.isConnection(pattern.text) && uri.scheme == scheme, "\(uri)")
    check(uri.userinfo == nil, "\(uri) has a user")
    checkPlace(uri.host ?? "", uri.port ?? 70)
    let decoded = String(decoding: PercentEncoding.decode(uri.path), as: UTF8.self)
    check(!decoded.split(whereSeparator: { "/\\".contains($0) }).contains(".."), "\(uri) goes up")
    let (path, asked) = ("/" + parts[3], uri.path + (uri.query.map { "?" + $0 } ?? ""))
    let said = path.hasSuffix("*") ? String(path.dropLast()) : path
    check(asked.hasPrefix(said) || asked.isEmpty || asked.hasPrefix("?"), "\(asked) is not \(said)")
    check(path.hasSuffix("*") || asked.count <= said.count, "\(asked) is more than \(said)")
}

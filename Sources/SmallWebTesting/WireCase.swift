// SPDX-License-Identifier: MIT
package import SmallWebCore

/// One file of one protocol rule: the request, the reply, and the expected events.
///
///     # A comment: the rule, and its source.
///     url    gopher://example.test/0/a     the URL to fetch, verbatim
///     input  TEXT                          the answer to a prompt, with escapes
///     raw                                  ask for the bytes as received
///     head                                 ask for the head alone
///     items  no                            ask for no items
///     option NAME VALUE                    an option of the plugin; a flag has no value
///     upload TEXT                          the data to store, with escapes
///     limit  line 80                       `line` or `held`, in bytes
///     dial   example.test:70               the server to connect to, or `no`; a URL that is opened
///     answer {"class":"success"}           the head of such a URL
///     >      /a\r\n                        request bytes, with escapes
///     <      hello\r\n                     reply bytes, with escapes
///     cut    any                           a part of the reply may be a whole one
///     close  fin                           `close_notify`, `fin`, `reset`, `silence`
///     =      {"event":"end",…}             one event as JSON, see `eventLine`
///     error  protocol-error                the outcome of the error, after those events
///
/// The escapes are `\r \n \t \\ \xNN`. Body pieces are joined and come last before the end, because
/// their order among items depends on the arrival of the bytes.
package struct WireCase: Sendable, CustomStringConvertible {
    /// The end of the connection after the last byte.
    package enum Close: String, Sendable {
        case closeNotify = "close_notify"
        case fin, reset
        /// Not at all: a wait for it ends with a `timeout`.
        case silence
    }

    /// One line of the conversation; with datagrams, one datagram.
    package enum Step: Sendable, Hashable {
        /// The plugin sends this.
        case request([UInt8])
        /// The server answers with this.
        case reply([UInt8])
    }

    package var name = ""
    package var url = ""
    package var input: [UInt8]?
    package var isRaw = false
    package var wantsHeadAlone = false
    package var wantsItems = true
    package var limits = Limits()
    /// `no` for cases that must end before connecting; `nil` for anywhere.
    package var dial: String?
    /// The head of the URL that a program opens, whose body is the reply.
    package var answer = Head(.success)
    package var options: [(name: String, value: String?)] = []
    package var upload: [UInt8]?
    /// The lines of requests and replies in their order.
    package var steps: [Step] = []
    /// All requests, and all replies.
    package var request: [UInt8] = []
    package var reply: [UInt8] = []
    package var close = Close.fin
    /// True if a part of the reply may be a whole one, as where an end mark is also text.
    package var hasWholeParts = false
    package var events: [String] = []
    package var error: Outcome?
    /// Lines of each word, counted from 1.
    private var lineNumbers: [String: [Int]] = [:]

    package var description: String { name }

    /// - Parameter text: The text of a fixture file.
    /// - Throws: ``Malformed`` with the line's number.
    package init(name: String, parsing text: String) throws(Malformed) {
        self.name = name
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        where !line.isEmpty && !line.hasPrefix("#") {
            do throws(Malformed) {
                try take(line, index + 1)
            } catch {
                throw Malformed(why: "\(name):\(index + 1): \(error.why)")
            }
        }
        guard !url.isEmpty else { throw Malformed(why: "\(name): no url") }
    }

    package init(name: String, _ bytes: [UInt8]) throws(Malformed) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Malformed(why: "\(name): it is not UTF-8; \\xNN stands for such bytes")
        }
        try self.init(name: name, parsing: text)
    }

    init(reply: [UInt8], _ close: Close) {
        (self.reply, self.close) = (reply, close)
        (steps, lineNumbers["<"]) = ([.reply(reply)], [1])
    }

    package struct Malformed: Error {
        package let why: String
    }

    private mutating func take(_ line: Substring, _ number: Int) throws(Malformed) {
        let word = line.prefix { $0 != " " }
        lineNumbers[String(word), default: []].append(number)
        let value = String(line.dropFirst(word.count).drop { $0 == " " })
        switch word {
        case "url": url = value
        case "input": input = try Self.unescape(value)
        case "raw": isRaw = true
        case "head": wantsHeadAlone = true
        case "items":
            guard value == "no" else { throw Malformed(why: "items no") }
            wantsItems = false
        case "limit": try limit(value)
        case "dial": dial = value
        case "answer": answer = try Self.head(value)
        case "option":
            let name = value.prefix { $0 != " " }
            guard !name.isEmpty else { throw Malformed(why: "option NAME VALUE") }
            let rest = value.dropFirst(name.count + 1)
            options.append((String(name), rest.isEmpty ? nil : String(rest)))
        case "upload": upload = try Self.unescape(value)
        case ">":
            let bytes = try Self.unescape(value)
            steps.append(.request(bytes))
            request += bytes
        case "<":
            let bytes = try Self.unescape(value)
            steps.append(.reply(bytes))
            reply += bytes
        case "cut":
            guard value == "any" else { throw Malformed(why: "cut any") }
            hasWholeParts = true
        case "=":
            do throws(FetchError) {
                _ = try JSONValue.parse(Array(value.utf8)[...])
            } catch {
                throw Malformed(why: error.message)
            }
            events.append(value)
        case "close":
            guard let close = Close(rawValue: value) else {
                throw Malformed(why: "no such close: \(value)")
            }
            self.close = close
        case "error":
            guard let error = Outcome(rawValue: value) else {
                throw Malformed(why: "no such outcome: \(value)")
            }
            self.error = error
        default: throw Malformed(why: "no such word: \(word)")
        }
    }

    private static func head(_ text: String) throws(Malformed) -> Head {
        guard let value = try? JSONValue.parse(Array(text.utf8)[...]),
            let replyClass = value["class"]?.string.flatMap(Head.Class.init)
        else { throw Malformed(why: "answer {\"class\":\"success\"}") }
        var head = Head(replyClass)
        if case .number(let digits)? = value["status"] { head.status = Int(digits) }
        head.meta = value["meta"]?.string
        head.mediaType = value["mime"]?.string.flatMap(MediaType.init(parsing:))
        return head
    }

    private mutating func limit(_ value: String) throws(Malformed) {
        let words = value.split(separator: " ")
        guard words.count == 2, let number = Int(words[1]) else {
            throw Malformed(why: "limit NAME N")
        }
        switch words[0] {
        case "line": limits.lineBytesMax = number
        case "held": limits.heldBytesMax = number
        default: throw Malformed(why: "no such limit: \(words[0])")
        }
    }

    /// Bytes of a text with C escapes.
    static func unescape(_ text: String) throws(Malformed) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "\\"): bytes.append(0x5C)
            case UInt8(ascii: "x"):
                guard let value = ASCII.bytes(hex: rest.prefix(2)), !value.isEmpty else {
                    throw Malformed(why: "\\x without two digits")
                }
                bytes += value
                rest = rest.dropFirst(2)
            default: throw Malformed(why: "no such escape")
            }
        }
        return bytes
    }
}

extension WireCase {
    /// The last line of a word.
    package func line(of word: String) -> Int? { lineNumbers[word]?.last }

    /// The line of an event; `nil` behind the last one.
    package func line(ofEvent index: Int) -> Int? {
        lineNumbers["="].flatMap { $0.indices.contains(index) ? $0[index] : nil }
    }

    package var stepLines: [Int] {
        ((lineNumbers[">"] ?? []) + (lineNumbers["<"] ?? [])).sorted()
    }

    /// The line that has a byte of the request; the last of these lines for a byte after them.
    package func line(ofRequestByte offset: Int) -> Int? {
        var (end, last) = (0, Int?.none)
        for (step, line) in zip(steps, stepLines) {
            guard case .request(let bytes) = step else { continue }
            (end, last) = (end + bytes.count, line)
            if offset < end { break }
        }
        return last
    }

    /// The request as the fetcher would make it, for an ASCII host.
    ///
    /// - Throws: Errors of the URL; `unsupported-scheme`.
    package func prepared(for handler: any ProtocolHandler) throws(FetchError) -> Request {
        let name = try URI(parsing: url).scheme
        guard let scheme = handler.schemes.first(where: { $0.name == name }) else {
            throw FetchError(.unsupportedScheme, .input, "not of this handler")
        }
        return try prepared(for: scheme)
    }

    /// The request, for one scheme of a handler.
    ///
    /// - Throws: Errors of the URL.
    func prepared(for scheme: Scheme) throws(FetchError) -> Request {
        let uri = try URI(parsing: url)
        var request = Request(
            uri: scheme.keepsDotSegments ? uri : uri.removingDotSegments(), scheme: scheme,
            input: input, limits: limits)
        request.wantsRawBody = isRaw
        request.wantsHeadAlone = wantsHeadAlone
        request.wantsItems = wantsItems
        for option in options {
            request.options[option.name] = option.value.map { .text($0) } ?? .flag(true)
        }
        if let upload {
            let mediaType = scheme.uploads?.mediaType ?? "application/octet-stream"
            request.upload = Request.Upload(upload, mediaType: mediaType)
        }
        return request
    }
}

/// A handler's events and requests in a play of a case.
package struct Played: Sendable, Hashable {
    /// Head, items and notes in order, each as ``eventLine(_:)``.
    package var events: [String] = []
    package var body: [UInt8] = []
    package var completeness: Completeness?
    package var error: FetchError?
    package var sent: [UInt8] = []
    package var dialled: [String] = []

    package init() {}

    /// All as the `=` lines of a fixture: the body joined, then the end.
    package var lines: [String] {
        var lines = events
        if !body.isEmpty { lines.append(eventLine(.body(body[...])) ?? "") }
        if let completeness {
            lines.append("{\"event\":\"end\",\"completeness\":\"\(completeness.rawValue)\"}")
        }
        return lines
    }

    package var heads: [String] { events.filter { $0.hasPrefix("{\"event\":\"head\"") } }
    package var items: [String] { events.filter { $0.hasPrefix("{\"event\":\"item\"") } }
}

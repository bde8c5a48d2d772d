// SPDX-License-Identifier: MIT
internal import Dispatch
internal import FingerPlugin
internal import GeminiPlugin
internal import GopherPlugin
internal import NexPlugin
internal import SmallWebCore
internal import SmallWebTesting
internal import SmallWebTestSupport
internal import SpartanPlugin

/// Runs a task to its end. Most never wait and are over when `immediate` returns; a long
/// computation yields, and goes on in another thread.
func immediately<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
    // Read after the signal.
    nonisolated(unsafe) var value: Value?
    let isOver = DispatchSemaphore(value: 0)
    _ = Task.immediate {
        value = await body()
        isOver.signal()
    }
    isOver.wait()
    guard let value else { fatalError("the task has no value") }
    return value
}

private let handlers: [any ProtocolHandler] = [
    GeminiPlugin(), GopherPlugin(), SpartanPlugin(), FingerPlugin(), NexPlugin(), TitanHandler(),
]

/// A byte of flags, a URL's path up to a line feed, and the server's reply: a whole fetch. The
/// result does not depend on the pieces, and the request is one line.
func exchange(_ input: [UInt8]) {
    guard let flags = input.first else { return }
    let rest = input.dropFirst()
    let end = rest.firstIndex(of: ASCII.lineFeed) ?? rest.endIndex
    guard let path = String(validating: rest[..<end], as: UTF8.self),
        var wire = try? WireCase(name: "fuzz", parsing: "url x")
    else { return }
    let handler = handlers[Int(flags & 7) % handlers.count]
    let scheme = handler.schemes[flags & 8 == 0 ? 0 : handler.schemes.count - 1]
    wire.url = "\(scheme.name)://h.test/\(path)"
    wire.reply = Array(rest[end...].dropFirst())
    wire.isRaw = flags & 16 != 0
    wire.wantsHeadAlone = flags & 32 != 0
    wire.wantsItems = flags & 64 == 0
    if flags & 128 != 0 {
        wire.upload = Array("abc".utf8)
        wire.options = [("mime", "text/plain"), ("token", "s;e")]
    }
    wire.limits.lineBytesMax = 200
    wire.limits.heldBytesMax = 400
    let close: WireCase.Close = flags & 8 == 0 ? .fin : .closeNotify
    let final = wire
    let playing = { (step: Int) -> Played in
        immediately { await play(final, handler, step: step, close: close) }
    }
    let whole = playing(.max)
    for step in [1, 7] {
        let pieced = playing(step)
        // The events before an error depend on the pieces.
        check(
            whole.error == nil
                ? pieced.events == whole.events : isSameSoFar(pieced.events, whole.events),
            "\(pieced.events) is not \(whole.events)")
        check(pieced.error == whole.error, "\(String(describing: pieced.error))")
        check(pieced.completeness == whole.completeness, "the end depends on the pieces")
        check(pieced.sent == whole.sent, "the request depends on the pieces")
        check(
            whole.error == nil
                ? pieced.body == whole.body : isSameSoFar(pieced.body, whole.body),
            "the body depends on the pieces")
    }
    checkPlayed(whole, wire, handler)
}

private func isSameSoFar<Element: Equatable>(_ one: [Element], _ other: [Element]) -> Bool {
    one.starts(with: other) || other.starts(with: one)
}

private func checkPlayed(_ played: Played, _ wire: WireCase, _ handler: any ProtocolHandler) {
    check(played.heads.count <= 1, "\(played.heads.count) heads")
    check((played.error == nil) == (played.completeness != nil), "no end, or two")
    check(played.body.isEmpty || played.heads.count == 1, "a body without a head")
    let ends = played.sent.count { $0 == ASCII.lineFeed }
    // Data follows the line, and may have any bytes.
    let hasData = handler is SpartanPlugin || handler is TitanHandler
    check(played.dialled.isEmpty ? ends == 0 : ends == 1 || hasData, "\(ends) lines are sent")
    let shown = handler.redacted(played.sent)
    check(shown.count >= min(played.sent.count, 1), "nothing is shown")
    for line in played.lines {
        check((try? JSONValue.parse(Array(line.utf8)[...])) != nil, "no JSON: \(line)")
    }
    if handler is NexPlugin && !played.dialled.isEmpty { checkNex(played, wire) }
}

/// All of the reply is the body, and a whole line is an item where items are wanted.
private func checkNex(_ played: Played, _ wire: WireCase) {
    if played.error == nil { check(played.body == wire.reply, "another body") }
    guard played.error == nil, wire.wantsItems,
        played.sent.dropLast().last == ASCII.slash
    else { return check(played.items.isEmpty || played.error != nil, "items of no directory") }
    let lines = wire.reply.count { $0 == ASCII.lineFeed }
    check(played.items.count == lines, "\(played.items.count) items of \(lines) lines")
}

/// A fixture: its content can be written again, and every byte has a line.
func wireCase(_ input: [UInt8]) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    let wire: WireCase
    do throws(WireCase.Malformed) {
        wire = try WireCase(name: "a", parsing: text)
    } catch {
        return check(error.why.hasPrefix("a:"), "no place in \(error.why)")
    }
    var (request, reply) = ([UInt8](), [UInt8]())
    for step in wire.steps {
        switch step {
        case .request(let bytes): request += bytes
        case .reply(let bytes): reply += bytes
        }
    }
    check(request == wire.request && reply == wire.reply, "the steps are others")
    check(wire.stepLines.count == wire.steps.count, "steps without lines")
    for offset in [0, wire.request.count / 2, wire.request.count] {
        let line = wire.line(ofRequestByte: offset)
        check(line.map(wire.stepLines.contains) ?? wire.request.isEmpty, "line of \(offset)")
    }
    for index in wire.events.indices { check(wire.line(ofEvent: index) != nil, "an event") }
    check(wire.line(ofEvent: wire.events.count) == nil, "an event too many")
    check(wire.line(of: "url") != nil, "no line of the URL")
    let escaped = { (bytes: [UInt8]) -> String in
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return "\\x" + (digits.utf8.count == 1 ? "0" : "") + digits
        }.joined()
    }
    let again = try? WireCase(
        name: "b",
        parsing: "url \(wire.url)\n> \(escaped(wire.request))\n< \(escaped(wire.reply))")
    // A carriage return at the URL's end would make one character with the line feed.
    if !wire.url.utf8.contains(13) {
        check(again?.request == wire.request && again?.reply == wire.reply, "another case")
        check(again?.url == wire.url, "another URL")
    }
    for handler in handlers { checkPrepared(wire, handler) }
}

private func checkPrepared(_ wire: WireCase, _ handler: any ProtocolHandler) {
    guard let request = try? wire.prepared(for: handler) else { return }
    check(request.uri.scheme == request.scheme.name, "another scheme")
    check(request.input == wire.input && request.wantsRawBody == wire.isRaw, "another request")
    guard let upload = request.upload, let bytes = wire.upload else {
        return check(request.upload == nil && wire.upload == nil, "an upload")
    }
    let piece = immediately { () async -> [UInt8]? in try? upload.next() }
    check(piece == Array(bytes.prefix(65_536)), "another upload")
}

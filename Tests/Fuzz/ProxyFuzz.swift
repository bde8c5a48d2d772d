// SPDX-License-Identifier: MIT
internal import SmallWebCore
@testable internal import SmallWebTransport

/// A flag for credentials, one for insisting on them, and a proxy's reply: each of the three
/// conversations ends, asks for no byte beyond, and has the same result when it is held again.
func proxy(_ input: [UInt8]) {
    guard let flags = input.first else { return }
    let reply = Array(input.dropFirst())
    let credentials = flags & 1 == 0 ? nil : Proxy.Credentials(user: "joe", password: "secret")
    let target = ProxyTarget.name("a.test", port: 1965)
    if let socks = try? SOCKS5Conversation(
        to: target, credentials: credentials, insistsOnCredentials: flags & 3 == 3)
    {
        let (end, taken, hasShown) = hold(socks, reply)
        if end == .done {
            // Its address may be a name of no letters.
            check(reply[0] == 5 && taken >= 9, "a tunnel out of \(taken) bytes")
            check(flags & 3 != 3 || hasShown, "a shared circuit")
        }
    }
    if let socks = try? SOCKS4Conversation(to: target) {
        let (end, taken, _) = hold(socks, reply)
        if end == .done { check(taken == 8 && reply[1] == 90, "not a reply of SOCKS 4") }
    }
    let (end, taken, _) = hold(
        ConnectConversation(to: "a.test:1965", credentials: credentials), reply)
    guard end == .done else { return }
    let header = reply.prefix(taken)
    check(header.starts(with: "HTTP/1.".utf8) && header.last == ASCII.lineFeed, "no header")
    check(taken <= ConnectConversation.headerBytesMax, "\(taken) bytes")
    // The header ends with an empty line; an earlier one belongs to an interim reply.
    let ends = ["\n\n", "\n\r\n"].map { Array($0.utf8) }
    check(ends.contains { header.suffix($0.count).elementsEqual($0) }, "no empty line")
}

private enum End { case done, cut, refused }

private func hold(_ first: some ProxyConversation, _ reply: [UInt8]) -> (End, Int, Bool) {
    var conversation = first
    var (taken, sent) = (0, 0)
    var received: [UInt8] = []
    while true {
        let step: ProxyStep
        do throws(FetchError) {
            step = try conversation.next(received)
        } catch {
            check(error.outcome == .proxy, "\(error)")
            return (.refused, taken, false)
        }
        switch step {
        case .done:
            let hasShown = (conversation as? SOCKS5Conversation)?.hasShownCredentials ?? false
            return (.done, taken, hasShown)
        case .send(let bytes):
            sent += 1
            check(!bytes.isEmpty && bytes.count <= 600 && sent <= 3, "\(sent) messages")
            received = []
        case .receive(let count):
            check(count > 0 && count <= 257, "\(count) bytes are asked for")
            guard taken + count <= reply.count else { return (.cut, taken, false) }
            received = Array(reply[taken..<taken + count])
            taken += count
        }
    }
}

// SPDX-License-Identifier: MIT
package import SmallWebCore

/// An event as a line of JSON, with no nulls; `nil` for events that no handler emits.
///
/// - Parameter hasFacts: True to add the members that a fixture may leave out: size, name, facts.
package func eventLine(_ event: Event, hasFacts: Bool = false) -> String? {
    switch event {
    case .head, .item, .body, .note: break
    case .connecting, .connected, .sent, .redirect, .facts, .diagnostics, .end: return nil
    }
    let line = JSONWriter.line { writer in
        switch event {
        case .head(let head): writer.members(of: head, hasFacts: hasFacts)
        case .item(let item): writer.members(of: item, hasFacts: hasFacts)
        case .body(let bytes):
            writer.member("event", "body")
            if String(validating: bytes, as: UTF8.self) == nil {
                writer.member("hex", Array(bytes).hex)
            } else {
                writer.member(text: bytes, allowsNUL: true)
            }
        case .note(let note):
            writer.member("event", "note")
            writer.member("code", note.code)
        default: break
        }
    }
    return String(decoding: line.dropLast(), as: UTF8.self)
}

extension JSONWriter {
    fileprivate mutating func members(of head: Head, hasFacts: Bool) {
        member("event", "head")
        if let status = head.status { member("status", status) }
        member("class", head.replyClass.rawValue)
        if let meta = head.meta { member("meta", meta) }
        if let type = head.mediaType { member("mime", type.description) }
        if let target = head.redirectTarget { member("target", target) }
        if head.isPermanentRedirect { member("permanent", true) }
        if head.wantsSensitiveInput { member("sensitive", true) }
        if let pause = head.retryAfter { member("retry_after", Int(pause.components.seconds)) }
        guard hasFacts else { return }
        if let size = head.bodyBytes { member("size", size) }
        if let name = head.suggestedName { member("name", name) }
        member(unlessEmpty: head.facts)
    }

    fileprivate mutating func members(of item: Item, hasFacts: Bool) {
        if item.kind == .reference {
            member("event", "ref")
            member("name", item.text)
            for name in ["oid", "symref", "peeled"] {
                if case .text(let text) = item.facts[name] {
                    member(named: name) { $0.value(text) }
                }
            }
        } else {
            member("event", "item")
            member("kind", item.kind.rawValue)
            if let type = item.type { member("type", type) }
            member("text", item.text)
            if let url = item.url { member("url", url) }
        }
        if hasFacts { member(unlessEmpty: item.facts) }
    }

    private mutating func member(unlessEmpty facts: Facts) {
        guard !facts.isEmpty else { return }
        member("facts") { $0.object { $0.members(of: facts) } }
    }
}

// SPDX-License-Identifier: MIT
package import SmallWebCore

/// An event as one line of JSON, keys in a fixed order, absent instead of null; `nil` for events
/// that no handler emits.
package func eventLine(_ event: Event) -> String? {
    switch event {
    case .head(let head): headLine(head)
    case .item(let item) where item.kind == .reference:
        object([
            ("event", quoted("ref")), ("name", quoted(item.text)),
            ("oid", text(item.facts["oid"])), ("symref", text(item.facts["symref"])),
            ("peeled", text(item.facts["peeled"])),
        ])
    case .item(let item):
        object([
            ("event", quoted("item")), ("kind", quoted(item.kind.rawValue)),
            ("type", item.type.map(quoted)), ("text", quoted(item.text)),
            ("url", item.url.map(quoted)),
        ])
    case .body(let bytes): bodyLine(bytes)
    case .note(let note): object([("event", quoted("note")), ("code", quoted(note.code))])
    case .connecting, .connected, .sent, .redirect, .facts, .diagnostics, .end: nil
    }
}

private func text(_ fact: Fact?) -> String? {
    if case .text(let text) = fact { quoted(text) } else { nil }
}

private func headLine(_ head: Head) -> String {
    object([
        ("event", quoted("head")), ("status", head.status.map { "\($0)" }),
        ("class", quoted(head.replyClass.rawValue)), ("meta", head.meta.map(quoted)),
        ("mime", head.mediaType.map { quoted($0.description) }),
        ("target", head.redirectTarget.map(quoted)),
        ("permanent", head.isPermanentRedirect ? "true" : nil),
        ("sensitive", head.wantsSensitiveInput ? "true" : nil),
        ("retry_after", head.retryAfter.map { "\($0.components.seconds)" }),
    ])
}

private func bodyLine(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(validating: bytes, as: UTF8.self)
    return object([
        ("event", quoted("body")), ("text", text.map(quoted)),
        ("hex", text == nil ? quoted(Array(bytes).hex) : nil),
    ])
}

private func object(_ members: [(String, String?)]) -> String {
    let present = members.compactMap { key, value in value.map { "\"\(key)\":\($0)" } }
    return "{" + present.joined(separator: ",") + "}"
}

private func quoted(_ text: String) -> String {
    var json = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": json += "\\\""
        case "\\": json += "\\\\"
        case "\n": json += "\\n"
        case "\r": json += "\\r"
        case "\t": json += "\\t"
        case _ where scalar.value < 0x20 || 0x7F..<0xA0 ~= scalar.value:
            let digits = String(scalar.value, radix: 16)
            json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: json.unicodeScalars.append(scalar)
        }
    }
    return json + "\""
}

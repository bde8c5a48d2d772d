// SPDX-License-Identifier: MIT
internal import SmallWebCore
internal import SmallWebFormats

/// An event as ``eventLine(_:)`` has it, with what a fixture may leave unsaid.
func fixtureLine(_ event: Event) -> String? {
    guard let line = eventLine(event) else { return nil }
    let more = JSONWriter.line { writer in
        switch event {
        case .head(let head):
            if let size = head.bodyBytes { writer.member("size", size) }
            if let name = head.suggestedName { writer.member("name", name) }
            writer.member(unlessEmpty: head.facts)
        case .item(let item): writer.member(unlessEmpty: item.facts)
        default: break
        }
    }
    // Two objects become one: without the first one's end, and the other's beginning.
    let members = String(decoding: more.dropFirst().dropLast(2), as: UTF8.self)
    return members.isEmpty ? line : "\(line.dropLast()),\(members)}"
}

extension JSONWriter {
    fileprivate mutating func member(unlessEmpty facts: Facts) {
        guard !facts.isEmpty else { return }
        member("facts") { $0.object { $0.members(of: facts) } }
    }
}

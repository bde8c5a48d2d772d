// SPDX-License-Identifier: MIT

extension JSONWriter {
    package mutating func members(of facts: Facts) {
        for fact in facts.members {
            if case .bytes(let bytes) = fact.value {
                member(named: fact.name, bytes: bytes)
            } else {
                member(named: fact.name) { $0.value(fact.value) }
            }
        }
    }

    private mutating func value(_ fact: Facts.Value) {
        switch fact {
        case .none: null()
        case .text(let text): value(text)
        case .bytes(let bytes): value(String(decoding: bytes, as: UTF8.self))
        case .number(let number): value(number)
        case .flag(let flag): value(flag)
        case .list(let list): array(list) { $0.value($1) }
        case .object(let facts): object { $0.members(of: facts) }
        }
    }
}

// SPDX-License-Identifier: MIT

package typealias JSONWriter = Inlined.JSONWriter

extension Inlined {
    /// Builds one line of JSON. Members keep the order of the calls, and the line cannot control a
    /// terminal: all characters that ``TerminalText`` calls dangerous are escaped.
    public struct JSONWriter: ~Copyable {
        private var bytes = ByteBuilder()
        private var needsComma = false
        private var depth = 0
        /// Names of the outermost object's members to write; `nil` for all.
        private let wanted: Set<String>?

        private init(wanted: Set<String>?) {
            self.wanted = wanted
        }

        /// One object, with a line feed.
        ///
        /// - Parameter wanted: Names of the members to write; `nil` for all.
        package static func line(wanted: Set<String>? = nil, _ body: (inout JSONWriter) -> Void)
            -> [UInt8]
        {
            var writer = JSONWriter(wanted: wanted)
            writer.object(body)
            writer.bytes.append(ASCII.lineFeed)
            return writer.bytes.array
        }

        package static func string(_ text: String) -> [UInt8] {
            var writer = JSONWriter(wanted: nil)
            writer.value(text)
            return writer.bytes.array
        }

        // MARK: Structure

        @usableFromInline package mutating func object(_ body: (inout JSONWriter) -> Void) {
            nest(UInt8(ascii: "{"), UInt8(ascii: "}"), body)
        }

        @inlinable package mutating func array<Element>(
            _ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) -> Void
        ) {
            nest(UInt8(ascii: "["), UInt8(ascii: "]")) { writer in
                for element in elements { body(&writer, element) }
            }
        }

        /// Adds a member to the current object; `body` writes its value.
        @usableFromInline package mutating func member(
            _ name: StaticString, _ body: (inout JSONWriter) -> Void
        ) {
            guard depth > 1 || wanted?.contains(name.description) ?? true else { return }
            bytes.append(member: name, isFirst: !needsComma)
            give(body)
        }

        /// Same for a name from outside, which is escaped.
        package mutating func member(named name: String, _ body: (inout JSONWriter) -> Void) {
            guard depth > 1 || wanted?.contains(name) ?? true else { return }
            value(name)
            bytes.append(ASCII.colon)
            give(body)
        }

        package mutating func member(_ name: StaticString, _ value: String?) {
            member(name) { $0.value(value) }
        }
        package mutating func member(_ name: StaticString, _ value: Int?) {
            member(name) { $0.value(value) }
        }
        package mutating func member(_ name: StaticString, _ value: Bool?) {
            member(name) { $0.value(value) }
        }
        package mutating func member(_ name: StaticString, seconds: Double?) {
            member(name) { $0.value(seconds: seconds) }
        }

        package mutating func member(_ name: StaticString, seconds duration: Duration?) {
            member(name, seconds: duration?.inSeconds)
        }

        /// An object about `value`; null without one.
        @inlinable package mutating func member<Value>(
            _ name: StaticString, object value: Value?, _ body: (inout JSONWriter, Value) -> Void
        ) {
            member(name) { writer in
                guard let value else { return writer.null() }
                writer.object { body(&$0, value) }
            }
        }

        /// An array; null without one.
        @inlinable package mutating func member<Element>(
            _ name: StaticString, array elements: (some Sequence<Element>)?,
            _ body: (inout JSONWriter, Element) -> Void
        ) {
            member(name) { writer in
                guard let elements else { return writer.null() }
                writer.array(elements, body)
            }
        }

        // MARK: Values

        package mutating func value(_ text: String?) {
            guard var text else { return null() }
            separate()
            _ = text.withUTF8 { quoted($0) }
        }

        /// A string from 2^53 on, because many readers keep numbers as doubles.
        package mutating func value(_ number: Int?) {
            guard let number else { return null() }
            if number.magnitude >= 1 << 53 { return value(String(number)) }
            separate()
            if number < 0 { bytes.append(UInt8(ascii: "-")) }
            bytes.append(digits: number.magnitude)
        }

        package mutating func value(_ flag: Bool?) {
            raw(flag.map { $0 ? "true" : "false" } ?? "null")
        }

        /// With six decimals.
        package mutating func value(seconds: Double?) {
            guard let seconds else { return null() }
            let micros = UInt(max(0, seconds * 1e6) + 0.5)
            separate()
            bytes.append(digits: micros / 1_000_000)
            bytes.append(ASCII.dot)
            bytes.append(digits: micros % 1_000_000, atLeast: 6)
        }

        package mutating func value(base64 bytes: some Sequence<UInt8>) {
            value(Base64.encode(Array(bytes)))
        }

        @usableFromInline package mutating func null() { raw("null") }

        /// Appends JSON text that is already valid and safe.
        package mutating func raw(_ text: ArraySlice<UInt8>) {
            separate()
            text.withUnsafeBufferPointer { bytes.append($0) }
        }

        package mutating func raw(_ text: StaticString) {
            separate()
            bytes.append(text)
        }

        /// Appends a string if the bytes are UTF-8.
        ///
        /// - Returns: False if they are not; nothing is written then.
        package mutating func value(utf8 text: ArraySlice<UInt8>, allowsNUL: Bool = true) -> Bool {
            let (count, hadComma) = (bytes.count, needsComma)
            separate()
            if text.withUnsafeBufferPointer({ quoted($0, allowsNUL: allowsNUL) }) { return true }
            bytes.truncate(to: count)
            needsComma = hadComma
            return false
        }

        /// Adds `name` as text; if `bytes` are not UTF-8, also `name_base64`.
        package mutating func member(named name: String, bytes: [UInt8]) {
            var isText = true
            member(named: name) { writer in
                isText = writer.value(utf8: bytes[...])
                if !isText { writer.value(String(decoding: bytes, as: UTF8.self)) }
            }
            if !isText { member(named: name + "_base64") { $0.value(base64: bytes) } }
        }

        /// Adds `text` if the bytes are UTF-8, otherwise `base64`.
        package mutating func member(text: ArraySlice<UInt8>, allowsNUL: Bool) {
            let (count, hadComma) = (bytes.count, needsComma)
            var isText = false
            member("text") { isText = $0.value(utf8: text, allowsNUL: allowsNUL) }
            if isText { return }
            bytes.truncate(to: count)
            needsComma = hadComma
            member("base64") { $0.value(base64: text) }
        }

        // MARK: Text

        private mutating func give(_ body: (inout JSONWriter) -> Void) {
            needsComma = false
            body(&self)
            needsComma = true
        }

        @usableFromInline mutating func nest(
            _ open: UInt8, _ close: UInt8, _ body: (inout JSONWriter) -> Void
        ) {
            separate()
            bytes.append(open)
            needsComma = false
            depth += 1
            body(&self)
            depth -= 1
            bytes.append(close)
            needsComma = true
        }

        private mutating func separate() {
            if needsComma { bytes.append(UInt8(ascii: ",")) }
            needsComma = depth > 0
        }

        /// Writes a string. If it returns false, the caller must truncate the text.
        @discardableResult
        private mutating func quoted(
            _ text: UnsafeBufferPointer<UInt8>, allowsNUL: Bool = true
        ) -> Bool {
            bytes.append(UInt8(ascii: "\""))
            let isValid = JSONText.escape(text, into: &bytes, allowsNUL: allowsNUL)
            bytes.append(UInt8(ascii: "\""))
            return isValid
        }
    }
}

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

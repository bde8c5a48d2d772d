// SPDX-License-Identifier: MIT
internal import Foundation
public import SmallWebCore

/// One file of one protocol rule: what is sent, what comes back, what it means.
///
///     # A comment: the rule, and where it is written.
///     url    gopher://example.test/0/a     what to fetch, verbatim
///     input  TEXT                          the answer to a prompt, with escapes
///     raw                                  ask for the wire's bytes
///     limit  line 80                       `line` or `held`, in bytes
///     dial   example.test:70               where to connect to, or `no`
///     >      /a\r\n                        request bytes, with escapes
///     <      hello\r\n                     reply bytes, with escapes
///     close  fin                           `close_notify`, `fin`, `reset`, `silence`
///     =      {"event":"end",…}             one event as JSON, see `eventLine`
///     error  protocol-error                the outcome of the error, after those events
///
/// The escapes are `\r \n \t \\ \xNN`. Body pieces are joined and come last before the end,
/// because how they mix with items depends on how the bytes arrive.
public struct WireCase: Sendable, CustomStringConvertible {
    public var name = ""
    public var url = ""
    public var input: [UInt8]?
    public var isRaw = false
    public var limits = Limits()
    /// `no` for cases that must end before connecting; `nil` for anywhere.
    public var dial: String?
    public var request: [UInt8] = []
    public var reply: [UInt8] = []
    package var close = ScriptedTransport.Close.fin
    public var events: [String] = []
    public var error: Outcome?

    public var description: String { name }

    /// - Parameter text: A fixture file's.
    /// - Throws: ``Malformed`` with the line's number.
    public init(name: String, parsing text: String) throws {
        self.name = name
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        where !line.isEmpty && !line.hasPrefix("#") {
            do {
                try take(line)
            } catch let problem as Malformed {
                throw Malformed(why: "\(name):\(index + 1): \(problem.why)")
            }
        }
        guard !url.isEmpty else { throw Malformed(why: "\(name): no url") }
    }

    public struct Malformed: Error { let why: String }

    private mutating func take(_ line: Substring) throws {
        let word = line.prefix { $0 != " " }
        let value = String(line.dropFirst(word.count).drop { $0 == " " })
        switch word {
        case "url": url = value
        case "input": input = try Self.unescape(value)
        case "raw": isRaw = true
        case "limit": try limit(value)
        case "dial": dial = value
        case ">": request += try Self.unescape(value)
        case "<": reply += try Self.unescape(value)
        case "=": events.append(value)
        case "close":
            guard let close = ScriptedTransport.Close(rawValue: value) else {
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

    private mutating func limit(_ value: String) throws {
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
    static func unescape(_ text: String) throws -> [UInt8] {
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
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                guard digits.utf8.count == 2, let value = UInt8(digits, radix: 16) else {
                    throw Malformed(why: "\\x without two digits")
                }
                bytes.append(value)
                rest = rest.dropFirst(2)
            default: throw Malformed(why: "no such escape")
            }
        }
        return bytes
    }

    /// All `.wire` files in a folder and the folders below, by name.
    ///
    /// - Parameter folder: Relative to `Tests/`.
    public static func all(in folder: String) -> [WireCase] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent()
        let root = tests.appending(path: folder)
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        let wires = (files?.allObjects ?? []).compactMap { $0 as? URL }
            .filter { $0.pathExtension == "wire" }.sorted { $0.path < $1.path }
        precondition(!wires.isEmpty, "no .wire files in \(root.path)")
        return wires.map { file in
            let name = String(file.path.dropFirst(root.path.count)).trimmingPrefix("/")
            do {
                return try WireCase(
                    name: String(name), parsing: String(contentsOf: file, encoding: .utf8))
            } catch {
                preconditionFailure("\(file.path): \(error)")
            }
        }
    }
}

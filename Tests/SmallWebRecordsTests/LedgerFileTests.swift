// SPDX-License-Identifier: MIT
import Foundation
import SmallWeb
import SmallWebRecords
import Testing

/// The file of a ledger, as stops of any kind have left it.
@Suite struct LedgerFileTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
    private let url = "gopher://h.test/0/a"

    private var line: [UInt8] {
        let line = #"{"type":"response","v":1,"outcome":"ok","url":"\#(url)","time":{"start":1.5}}"#
        return Array((line + "\n").utf8)
    }

    private func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: path)) }

    private var content: [UInt8] {
        get throws { Array(try Data(contentsOf: URL(filePath: path))) }
    }

    /// Torn at any byte: it is cut off, and the next record begins on a line of its own.
    @Test func aTornLastLineIsTolerated() throws {
        for count in line.indices {
            try write(line + line.prefix(count))
            #expect(try Ledger(path).outcome(nil, url) == .ok, "\(count)")
            #expect(try content == line, "\(count)")
            try write(Array(line.prefix(count)))
            do {
                let ledger = try Ledger(path)
                #expect(ledger.outcome(nil, url) == nil, "\(count)")
                try ledger.append(line)
            }
            #expect(try content == line, "\(count)")
        }
    }

    /// A torn line may be longer than the buffer.
    @Test func aLongTornLineIsCutOff() throws {
        try write(line + line.dropLast() + [UInt8](repeating: UInt8(ascii: "x"), count: 200_000))
        #expect(try Ledger(path).outcome(nil, url) == .ok)
        #expect(try content == line)
    }

    /// The last one counts, and lines of others say nothing.
    @Test func theLastOutcomeCounts() throws {
        let other = #"{"type":"error","v":1,"outcome":"timeout","url":"\#(url)"}"# + "\n"
        let foreign = "a note\n{}\n" + other.replacing("error", with: "notice")
        try write(line + Array((other + foreign).utf8))
        #expect(try Ledger(path).outcome(nil, url) == .timeout)
        #expect(try Ledger(path).outcome(nil, url + "b") == nil)
    }

    @Test func aFileThatCannotBeWrittenIsAnError() throws {
        let missing = #expect(throws: FetchError.self) { try Ledger(path + "/none") }
        #expect(missing?.outcome == .write && missing?.message.contains(path) ?? false)
        let full = try Ledger("/dev/full")
        let error = #expect(throws: FetchError.self) { try full.append(line) }
        #expect(error?.outcome == .write && error?.errnoName == "ENOSPC")
    }

    /// A directory; a regular file with no byte that can be read where it begins.
    @Test(arguments: [("/", "EISDIR"), ("/proc/self/mem", "EIO")])
    func aFileThatCannotBeReadIsAnError(_ path: String, _ name: String) {
        let error = #expect(throws: FetchError.self) { try Ledger(path) }
        #expect(error?.outcome == .write && error?.errnoName == name)
        #expect(error?.message.contains("the ledger \(path)") ?? false)
    }
}

// SPDX-License-Identifier: MIT
internal import Glibc
internal import SmallWeb
internal import SmallWebRecords

extension Command {
    static let ledger = Command(
        "ledger [ACTION] …",
        actions: [
            .action("merge FILE…", operands: [.file]) { settings, names throws(FetchError) in
                var merge = LedgerMerge(Messages(settings.messages))
                for name in names { try merge.read(name) }
                try merge.write()
            }
        ])
}

/// Finds the newest record of each URL in one pass over all files, and writes it in another.
struct LedgerMerge {
    private let messages: Messages
    private let lineBytesMax: Int
    private var names: [String] = []
    private var newest: [TwoHashKey: (file: Int32, line: Int, start: Double)] = [:]
    /// Number of lines in all files that are not records.
    private(set) var foreign = 0
    var urlCount: Int { newest.count }

    init(_ messages: Messages, lineBytesMax: Int = Ledger.lineBytesMax) {
        self.messages = messages
        self.lineBytesMax = lineBytesMax
    }

    mutating func read(_ name: String) throws(FetchError) {
        let reader = try open(name)
        let file = Int32(names.count)
        names.append(name)
        let before = foreign
        reading: while true {
            switch reader.take() {
            case .line(let line, let number):
                if reader.isTorn { break reading }
                guard let result = Ledger.Result(line) else {
                    if !Ledger.isRecord(line) { foreign += 1 }
                    continue
                }
                let start = result.start ?? -.infinity
                if let known = newest[result.key], known.start > start { continue }
                newest[result.key] = (file, number, start)
            case .tooLong: foreign += 1
            case .failed(let error): throw error
            case .nothing, .end: break reading
            }
        }
        if reader.isTorn { messages.warning("\(name): left out a last line without its end") }
        if foreign > before {
            messages.warning("\(name): left out \(foreign - before) lines that are not records")
        }
    }

    /// - Throws: `read` if a file has changed in the meantime, `write`.
    mutating func write() throws(FetchError) {
        var lines = [[Int]](repeating: [], count: names.count)
        for place in newest.values { lines[Int(place.file)].append(place.line) }
        newest = [:]
        for (name, numbers) in zip(names, lines) where !numbers.isEmpty {
            try copy(numbers.sorted(), of: name)
        }
    }

    private func copy(_ numbers: [Int], of name: String) throws(FetchError) {
        let reader = try open(name)
        var (pending, rest) = ([UInt8](), numbers[...])
        while let wanted = rest.first {
            switch reader.take() {
            case .line(let line, let number):
                guard number == wanted else { continue }
                rest.removeFirst()
                pending += line
                pending.append(ASCII.lineFeed)
                guard pending.count >= 65_536 else { continue }
                try StandardStream.output.writeForeign(pending)
                pending.removeAll(keepingCapacity: true)
            case .tooLong: continue
            case .failed(let error): throw error
            case .nothing, .end:
                throw FetchError(.read, .input, "\(name) has changed while it was read")
            }
        }
        try StandardStream.output.writeForeign(pending)
    }

    private func open(_ name: String) throws(FetchError) -> ListReader {
        let reader = try ListReader(name, lineBytesMax: lineBytesMax)
        guard regularFileBytes(reader.descriptor) != nil else {
            throw FetchError(
                .read, .input, "\(name) is not a file",
                hint: "a ledger is read twice: write it to a file first")
        }
        return reader
    }
}

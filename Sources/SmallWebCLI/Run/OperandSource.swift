// SPDX-License-Identifier: MIT
internal import SmallWeb
internal import SmallWebFormats
internal import SmallWebRecords

/// The requests of a run: its operands in order, with lists among them read lazily.
//
// @unchecked: lives on the event loop of the run alone.
final class OperandSource: @unchecked Sendable {
    enum Taken {
        case request(RequestLine)
        /// Cancels the orders with this key.
        case cancel(String)
        /// A request that belongs to another worker.
        case foreign
        /// Nothing available yet: retry once the descriptor is readable.
        case nothing(Int32)
        case end
    }

    private var operands: ArraySlice<String>
    private let messages: Messages
    private var list: ListReader?
    /// The operand of ``list``, and ``taken`` at its beginning.
    private var listed = ("", 0)
    /// URLs of an OPML document.
    private var feeds: ArraySlice<String> = []
    private var taken = 0
    private let own: OwnShard?

    /// - Parameters:
    ///   - operands: URLs; `-` and `@FILE` are lists.
    ///   - own: The part of the requests to take; `nil` for all.
    init(_ operands: [String], _ own: OwnShard? = nil, _ messages: Messages) {
        self.operands = operands[...]
        self.messages = messages
        self.own = own
    }

    func take() -> Taken {
        while true {
            if let list {
                switch list.take() {
                case .line(let bytes, let number):
                    // Avoid parsing lines of other workers.
                    if let own, bytes.first != UInt8(ascii: "{") {
                        guard own.has(bytes) else { return skip() }
                        return .request(numbered(RequestLine(bytes, line: number)))
                    }
                    let asked = RequestLine(bytes, line: number)
                    if let key = asked.cancels { return .cancel(key) }
                    return owned(asked)
                case .tooLong(let number):
                    return owned(RequestLine(problem: ListReader.tooLong(number), line: number))
                case .nothing: return .nothing(list.descriptor)
                case .failed(let error): return .request(refused(error))
                case .end:
                    self.list = nil
                    if listed.1 == taken { say("no URLs", listed.0) }
                }
            }
            if let url = feeds.popFirst() { return owned(RequestLine(operand: url)) }
            guard let operand = operands.popFirst() else { return .end }
            guard Self.isList(operand) else {
                let asked = RequestLine(operand: operand)
                asked.isNamed = true
                return owned(asked)
            }
            do throws(FetchError) {
                if operand.hasSuffix(".opml"),
                    let urls = try FeedReader.list(try InputSource.read(operand), of: operand)
                {
                    feeds = urls.map(\.url)[...]
                    if feeds.isEmpty { say("no feeds", operand) }
                    continue
                }
                listed = (operand, taken)
                list = try ListReader(operand == "-" ? "-" : String(operand.dropFirst()))
            } catch {
                return .request(refused(error))
            }
        }
    }

    private func say(_ what: String, _ list: String) {
        let name = list == "-" ? "standard input" : String(list.dropFirst())
        messages.warning("\(name) has \(what): nothing is fetched for it")
    }

    /// The remaining operands, for a run that ends early. Lists are not read.
    func rest() -> [RequestLine] {
        list = nil
        defer { (operands, feeds) = ([], []) }
        return (feeds + operands.filter { !Self.isList($0) }).compactMap { operand in
            guard case .request(let asked) = owned(RequestLine(operand: operand)) else {
                return nil
            }
            return asked
        }
    }

    /// All requests, for a run that has to know them before it begins.
    ///
    /// - Throws: `usage` if there are more than `max`; `interrupted`.
    static func all(
        _ operands: [String], on loop: EventLoop, max: Int = .max, _ messages: Messages
    ) async throws(FetchError) -> [RequestLine] {
        let source = OperandSource(operands, nil, messages)
        var requests: [RequestLine] = []
        while true {
            switch source.take() {
            case .request(let asked):
                requests.append(asked)
                guard requests.count <= max else {
                    throw usageError("more than \(max) URLs", hint: "split the list")
                }
            case .foreign, .cancel: continue
            case .nothing(let descriptor): await loop.untilReadable(descriptor, by: .never)
            case .end: return requests
            }
            if Task.isCancelled { throw .cancelled }
        }
    }

    static func isList(_ operand: String) -> Bool { operand == "-" || operand.hasPrefix("@") }

    private func owned(_ asked: RequestLine) -> Taken {
        if let own {
            let url = asked.subject.rawURL ?? asked.url.map { Array($0.utf8) }
            guard own.has(url?[...]) else { return skip() }
        }
        return .request(numbered(asked))
    }

    private func skip() -> Taken {
        taken += 1
        return .foreign
    }

    private func numbered(_ asked: RequestLine) -> RequestLine {
        asked.subject.n = taken
        taken += 1
        return asked
    }

    private func refused(_ error: FetchError) -> RequestLine {
        list = nil
        let asked = RequestLine(problem: error)
        asked.isUnreadList = true
        return numbered(asked)
    }
}

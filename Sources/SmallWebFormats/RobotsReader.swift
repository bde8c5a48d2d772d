// SPDX-License-Identifier: MIT
internal import SmallWebText

/// Reads the lines of a robots.txt file, and keeps those of our agents.
struct RobotsReader {
    /// The lines of an agent.
    private struct Record {
        var rules: [Robots.Rule] = []
        var delay: Double?
        var isOpened = false
        /// True if the author lets the agent in: its only `Disallow` is empty.
        var isOpen: Bool { isOpened && rules.isEmpty }
    }

    private let isOriginal: Bool
    /// The product, and for 1994 the roles.
    private let names: [String]
    /// By agent: ours, `*`, and an empty name for lines before any agent.
    private var records: [String: Record] = [:]
    /// The agents of the next line.
    private var agents = [""]
    private var isNaming = false
    private(set) var namesAgents = false

    init(_ dialect: Crawling.Dialect, product: String, roles: [String]) {
        isOriginal = dialect == .original
        names = ([product] + (isOriginal ? roles : [])).map { name in
            name.prefix { $0 != "/" }.lowercased()
        }
    }

    mutating func read(_ file: ArraySlice<UInt8>, isCut: Bool) {
        var (rest, number) = (file, 1)
        while !rest.isEmpty {
            let end = rest.firstIndex(where: ASCII.isLineEnd)
            add(rest[..<(end ?? rest.endIndex)], number: number, isCut: end == nil && isCut)
            rest = rest[(end ?? rest.endIndex)...]
            rest = rest.dropFirst(rest.starts(with: ASCII.crlf) ? 2 : 1)
            number += 1
        }
    }

    /// - Parameter isCut: True if the line may go on: it holds where it forbids.
    mutating func add(_ line: ArraySlice<UInt8>, number: Int, isCut: Bool = false) {
        let text = line.prefix { $0 != UInt8(ascii: "#") }
        guard let colon = text.firstIndex(of: ASCII.colon) else { return }
        var (name, value) = (text[..<colon].trimmed, text[(colon + 1)...].trimmed)
        if ASCII.isName(name, "user-agent"), !isCut { return addAgents(value) }
        let (isAllow, isDelay) = (ASCII.isName(name, "allow"), ASCII.isName(name, "crawl-delay"))
        guard isAllow || isDelay || ASCII.isName(name, "disallow") else { return }
        if isCut, isAllow || value.isEmpty { return }
        if isCut, !isDelay { value = Robots.beginning(value) }
        // A line without effect in this grammar ends the list of agents, too.
        isNaming = false
        let hasRule = !value.isEmpty && !isDelay && !(isAllow && isOriginal)
        let rule = Robots.Rule(isAllow: isAllow, pattern: Robots.pattern(value), number: number)
        for agent in agents {
            var record = records.removeValue(forKey: agent) ?? Record()
            if isDelay {
                record.delay = [record.delay, Self.seconds(value)].compactMap(\.self).max()
            }
            if value.isEmpty && !isAllow && !isDelay { record.isOpened = true }
            if hasRule { record.rules.append(rule) }
            records[agent] = record
        }
    }

    private mutating func addAgents(_ value: ArraySlice<UInt8>) {
        if !isNaming { agents = [] }
        (isNaming, namesAgents) = (true, true)
        let words = value.split { ASCII.isBlank($0) || $0 == UInt8(ascii: ",") }
        let names = names + ["*"]
        for word in isOriginal ? words[...] : words.prefix(1) {
            let word = word.prefix { $0 != ASCII.slash }
            for name in names where ASCII.isName(word, name) && !agents.contains(name) {
                agents.append(name)
                if records[name] == nil { records[name] = Record() }
            }
        }
    }

    private static func seconds(_ value: ArraySlice<UInt8>) -> Double? {
        guard value.allSatisfy({ ASCII.isDigit($0) || $0 == ASCII.dot }) else { return nil }
        let seconds = Double(String(decoding: value, as: UTF8.self))
        return seconds.map { min($0, Robots.delaySecondsMax) }
    }

    /// The rules that hold, by line number, and the delay.
    var result: (rules: [Robots.Rule], delay: Double?) {
        let held = isOriginal ? originalAgents : [records[names[0]] == nil ? "*" : names[0]]
        let records = held.compactMap { self.records[$0] }
        // A line of two of our agents counts once.
        var numbers: Set<Int> = []
        let rules = records.flatMap { $0.rules }.filter {
            $0.number == 0 || numbers.insert($0.number).inserted
        }
        return (rules.sorted { $0.number < $1.number }, records.compactMap { $0.delay }.max())
    }

    /// All of ours, and `*` unless the product or the only role is let in.
    private var originalAgents: Set<String> {
        let own = names.prefix(names.count == 2 ? 2 : 1)
        let isLetIn = own.contains { records[$0]?.isOpen ?? false }
        return Set(names + [""] + (isLetIn ? [] : ["*"]))
    }
}

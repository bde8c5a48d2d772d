// SPDX-License-Identifier: MIT
internal import SmallWeb

/// Persistent state of `feed` and `watch`, with a line for each page, host and link. No I/O.
///
///     # smallweb watch 1
///     host example.org:1965 next=1795478400
///     page gemini://example.org/ time=1795478000 size=120 sha256=…
///     link gemini://example.org/a first=1795478000
///
/// Comments, unknown lines and unknown pairs are preserved.
struct SubscriptionState: Equatable {
    /// The command that owns the state: a word of the first line.
    enum Kind: String { case feed, watch }

    struct Page: Equatable {
        /// Unix seconds of the last successful visit.
        var time: Int?
        /// Size of the body then, in bytes.
        var size: Int?
        var sha256: String?
        /// Digest of the compared content, if that is not the body.
        var compared: String?
        /// Exit status of the last visit.
        var exit = 0
        /// Validator for a conditional request, and the URL of the body it belongs to.
        var validator: String?
        var at: String?
        /// Target of a permanent redirect.
        var moved: String?
        var isGone = false
        /// Failed visits in a row with `--news`, and the exit statuses that were said of them.
        var (failures, told) = (0, [Int]())
        /// Pairs written by later versions.
        var others: [String] = []

        func hasTold(_ outcome: Outcome) -> Bool {
            told.contains(Int(outcome.exitStatus))
        }
    }

    struct Host: Equatable {
        /// Unix seconds of the end of the back-off.
        var next = 0
        /// Consecutive visits with temporary failures.
        var failures = 0
    }

    private struct Link: Equatable {
        /// Unix seconds of the first sighting.
        let first: Int
        /// Value of ``sightings`` at the last sighting.
        var last: Int
    }

    static let version = 1
    /// Longest back-off in seconds. Also limits it after the clock was set back.
    static let waitSecondsMax = 86_400

    let kind: Kind
    /// The end of the pages' keys, where these are not URLs alone (``WatchStore``).
    var suffix = ""
    private(set) var comments: [String] = []
    private var asked: [String] = []
    private var pages: [String: Page] = [:]
    /// Back-off by `host:port`.
    private(set) var hosts: [String: Host] = [:]
    private var links: [String: Link] = [:]
    /// Counter of sightings of links.
    private var sightings = 0
    /// Number of invalid lines that were dropped.
    private(set) var damaged = 0

    init(_ kind: Kind) { self.kind = kind }

    /// - Parameter place: The file's name, for messages.
    /// - Throws: `read` for a file that is not such a state, or has a later version.
    init(_ kind: Kind, _ bytes: [UInt8], at place: String) throws(FetchError) {
        self.kind = kind
        guard !bytes.isEmpty else { return }
        var lines = bytes.split(
            separator: ASCII.lineFeed, omittingEmptySubsequences: false)
        // A last line without a line feed is truncated.
        if lines.popLast()?.isEmpty == false { damaged += 1 }
        let first = lines.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let words = first.split(separator: " ")
        guard words.count == 4, words[0] == "#", words[1] == "smallweb",
            words[2] == kind.rawValue, let version = Int(words[3])
        else {
            throw FetchError(
                .read, .input, "\(place) is not a state of smallweb \(kind.rawValue)",
                hint: Advice.otherState)
        }
        guard version <= Self.version else {
            throw FetchError(
                .read, .input, "\(place) was written by a later version of smallweb",
                hint: Advice.thatState)
        }
        for line in lines.dropFirst() { take(String(decoding: line, as: UTF8.self)) }
    }

    private mutating func take(_ line: String) {
        if line.isEmpty { return }
        let words = line.split(separator: " ").map(String.init)
        guard let kind = words.first, ["host", "page", "link"].contains(kind) else {
            return comments.append(line)
        }
        guard words.count >= 3 else { return damaged += 1 }
        let pairs = Array(words.dropFirst(2))
        switch kind {
        case "host":
            guard let next = Self.number(pairs, "next") else { return damaged += 1 }
            let failures = min(Self.number(pairs, "failures") ?? 0, 1000)
            hosts[words[1]] = Host(next: next, failures: failures)
        case "link":
            guard let first = Self.number(pairs, "first") else { return damaged += 1 }
            see(words[1], at: first)
        default:
            guard let page = Page(pairs) else { return damaged += 1 }
            self[words[1]] = page
        }
    }

    fileprivate static func number(_ pairs: [String], _ name: String) -> Int? {
        guard let pair = pairs.first(where: { $0.hasPrefix(name + "=") }) else { return nil }
        return ASCII.decimal(pair.utf8.dropFirst(name.utf8.count + 1), max: 1 << 50)
    }

    var bytes: [UInt8] {
        var text: [UInt8] = []
        func add(_ words: String...) {
            for (index, word) in words.enumerated() {
                if index > 0 { text.append(ASCII.space) }
                text.append(word)
            }
            text.append(ASCII.lineFeed)
        }
        add("# smallweb \(kind.rawValue) \(Self.version)")
        for comment in comments { add(comment) }
        for (name, host) in hosts.sorted(by: { $0.key < $1.key }) {
            add("host", name, "next=\(host.next) failures=\(host.failures)")
        }
        for url in asked {
            if let page = pages[url] { add("page", url, page.pairs.joined(separator: " ")) }
        }
        for (url, link) in linksByLastSight { add("link", url, "first=\(link.first)") }
        return text
    }

    // MARK: Pages and hosts

    /// The page by its requested URL.
    subscript(url: String) -> Page? {
        get { pages[url + suffix] }
        set { set(url + suffix, newValue) }
    }

    private mutating func set(_ key: String, _ page: Page?) {
        if pages[key] == nil && page != nil { asked.append(key) }
        pages[key] = page
    }

    /// All pages by their keys, in the order of the file.
    var allPages: [(key: String, page: Page)] {
        asked.compactMap { key in pages[key].map { (key, $0) } }
    }

    /// Takes what a run has changed.
    mutating func merge(_ new: Self, since old: Self) {
        for (key, page) in new.allPages where page != old.pages[key] { set(key, page) }
        for name in Set(new.hosts.keys).union(old.hosts.keys)
        where new.hosts[name] != old.hosts[name] {
            hosts[name] = new.hosts[name]
        }
    }

    /// Takes the hosts of another state, of each the longest back-off.
    mutating func merge(_ others: [String: Host]) {
        hosts.merge(others) { $0.next > $1.next ? $0 : $1 }
    }

    mutating func change(_ url: String, _ body: (inout Page) -> Void) {
        var page = self[url] ?? Page()
        body(&page)
        self[url] = page
    }

    /// Unix seconds of the end of a host's back-off; `nil` if it may be contacted now.
    func opening(of host: String?, now: Int) -> Int? {
        guard let next = host.flatMap({ hosts[$0] })?.next else { return nil }
        return now < next && next <= now + Self.waitSecondsMax ? next : nil
    }

    /// Starts the back-off that a host asks for.
    mutating func pause(_ host: String, seconds: Int, now: Int) {
        let next = now + min(max(0, seconds), Self.waitSecondsMax)
        hosts[host, default: Host()].next = next
    }

    /// Records a success or a failure of a host. The back-off after a failure is one minute, and
    /// doubles with each further failure.
    mutating func note(_ host: String, failed: Bool, now: Int) {
        guard failed else {
            hosts[host] = hosts[host].flatMap { $0.next > now ? Host(next: $0.next) : nil }
            return
        }
        var entry = hosts[host] ?? Host()
        let seconds = min(60 << min(entry.failures, 11), Self.waitSecondsMax)
        entry.failures += 1
        if entry.next <= now || entry.next > now + Self.waitSecondsMax { entry.next = 0 }
        entry.next = max(entry.next, now + seconds)
        hosts[host] = entry
    }

    // MARK: Links

    /// Limit of links; beyond it those not seen for longest are dropped.
    private static let linksMax = 100_000

    /// - Returns: Unix seconds of the first sighting, which may be `now`.
    @discardableResult
    mutating func see(_ url: String, at now: Int) -> Int {
        sightings += 1
        let first = links[url]?.first ?? now
        links[url] = Link(first: first, last: sightings)
        if links.count > Self.linksMax {
            for (old, _) in linksByLastSight.prefix(Self.linksMax / 10) { links[old] = nil }
        }
        return first
    }

    private var linksByLastSight: [(key: String, value: Link)] {
        links.sorted { $0.value.last < $1.value.last }
    }
}

extension SubscriptionState.Page {
    /// `nil` for invalid pairs.
    fileprivate init?(_ pairs: [String]) {
        for pair in pairs {
            guard let equals = pair.firstIndex(of: "=") else { return nil }
            let name = pair[..<equals]
            let value = String(pair[pair.index(after: equals)...])
            let number = ASCII.decimal(value.utf8, max: 1 << 50)
            switch name {
            case "time", "size", "exit", "failures":
                guard let number else { return nil }
                if name == "failures" { failures = min(number, 1000) }
                if name == "time" { time = number }
                if name == "size" { size = number }
                if name == "exit" { exit = min(number, 255) }
            case "sha256": sha256 = value
            case "compared": compared = value
            case "validator":
                validator = String(decoding: PercentEncoding.decode(value), as: UTF8.self)
            case "at": at = value
            case "moved": moved = value
            case "gone": isGone = value == "1"
            case "told":
                told = value.split(separator: ",").compactMap { ASCII.decimal($0.utf8, max: 255) }
            default: others.append(pair)
            }
        }
    }

    fileprivate var pairs: [String] {
        var pairs: [String] = []
        func add(_ name: String, _ value: String?) {
            if let value { pairs.append("\(name)=\(value)") }
        }
        add("time", time.map(String.init))
        add("size", size.map(String.init))
        add("sha256", sha256)
        add("compared", compared)
        add("exit", "\(exit)")
        add("validator", validator.map { PercentEncoding.encode($0.utf8, also: "\"/:,;()+=@") })
        add("at", at)
        add("moved", moved)
        if isGone { add("gone", "1") }
        if failures > 0 { add("failures", "\(failures)") }
        if !told.isEmpty { add("told", told.map(String.init).joined(separator: ",")) }
        return pairs + others
    }
}
